public import Bytes

/// The `Host` that an upstream sees.
public enum UpstreamHost: Sendable {
  /// The client's, or this one when an HTTP/1.0 client sent none.
  case client(otherwise: [UInt8])
  /// This one.
  case literal([UInt8])
  /// None yet: the caller adds it once the server is chosen.
  case addedByCaller
}

extension RequestHead {
  /// Decides what becomes of each field, in the order that keeps clients from removing or forging what the gate says:
  ///
  /// 1. `Connection` is read; the request is refused if it names one of the gate's own fields or inputs.
  /// 2. Hop-by-hop fields and those that `Connection` names are dropped; names with an underscore are treated as the listener says.
  /// 3. The inputs are taken by ``field(named:)``: they are still found, but not passed on, unless the route keeps them.
  /// 4. Everything `X-App-Attest-…` goes, and every forwarding field, since no peer is trusted yet.
  ///
  /// Runs after routing, since inputs are the route's, and before the gate.
  public func prepareFields(_ policy: FieldPolicy) -> HeadRefusal? {
    precondition(!isPrepared, "fields are prepared once")
    if connection.otherCount > 0 {
      if let refusal = table.dropFieldsNamedByConnection(isGateField: { policy.inputs.containsTwin(of: $0) }) { return refusal }
    }
    var forwardedForEntries = 0
    let count = table.fields.count
    let hasNames = !policy.inputs.isEmpty || !policy.changes.names.isEmpty
    for index in 0..<count {
      let field = table.fields[index]
      var flags = field.flags
      if flags.contains(.underscore) {
        if policy.underscores == .reject { return .underscoreInFieldName }
        if policy.underscores == .drop { flags.insert(.dropped) }
      }
      switch field.name {
      case .other:
        if hasNames { flags.formUnion(namedBy(policy, field)) }
      case .twin, .appAttestTwin: flags.insert(.dropped)
      case .appAttest: flags.formUnion(policy.keepsInputs && isInput(field, policy) ? [] : .withheld)
      case .forwardedFor:
        forwardedForEntries += table.bytes.withReadable { 1 + $0.bytes(at: field.valueRange).countOfCommas }
        guard forwardedForEntries <= HeadLimits.forwardedForEntriesMax else { return .forwardingLoop }
        flags.insert(.withheld)
      case .forwarding, .requestID, .host, .contentLength, .expect: flags.insert(.withheld)
      case .accept, .authorization, .cookie, .date, .cacheControl, .targetedCacheControl:
        if hasNames { flags.formUnion(namedBy(policy, field)) }
      default: flags.insert(.dropped)
      }
      if flags != field.flags { table.fields[index].flags = flags }
    }
    isPrepared = true
    return nil
  }

  private func isInput(_ field: Field, _ policy: FieldPolicy) -> Bool {
    table.bytes.withReadable { policy.inputs.contains($0.bytes(at: field.nameRange)) }
  }

  private func namedBy(_ policy: FieldPolicy, _ field: Field) -> Field.Flags {
    table.bytes.withReadable { bytes in
      let name = bytes.bytes(at: field.nameRange)
      if policy.changes.names.contains(name) { return .withheld }
      if policy.inputs.contains(name) { return policy.keepsInputs ? [] : .withheld }
      return field.flags.contains(.oddSeparator) && policy.inputs.containsTwin(of: name) ? .dropped : []
    }
  }

  /// Writes the request anew for an upstream, with the target as it was sent. The head is not ended: the caller adds fields of its own
  /// by ``Bytes/ByteQueue/appendField(_:_:)`` and ends it by ``Bytes/ByteQueue/appendEndOfHead()``.
  ///
  /// `framing` is that of the body as it will be sent, which may be another than it came in.
  public func writeUpstream(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    precondition(isPrepared, "fields are prepared before they are written")
    table.bytes.withReadable { bytes in
      output.append(bytes.bytes(at: line.methodRange))
      output.append(UInt8(ascii: " "))
      output.append(bytes.bytes(at: target))
    }
    writeFields(to: &output, host: host, framing: framing, changes: changes)
  }

  /// As ``writeUpstream(to:host:framing:changes:)``, with another path and query (without `?`; nil for none): the form that was matched.
  public func writeUpstream(
    to output: inout ByteQueue, path: Span<UInt8>, query: Span<UInt8>?, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges
  ) {
    precondition(isPrepared, "fields are prepared before they are written")
    table.bytes.withReadable { bytes in output.append(bytes.bytes(at: line.methodRange)) }
    output.append(UInt8(ascii: " "))
    output.append(path)
    if let query {
      output.append(UInt8(ascii: "?"))
      output.append(query)
    }
    writeFields(to: &output, host: host, framing: framing, changes: changes)
  }

  /// `Host` comes first, as RFC 9110 section 7.2 asks.
  private func writeFields(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    output.append(" HTTP/1.1\r\n")
    switch host {
    case .literal(let text): output.appendField("Host", text)
    case .client(let otherwise):
      if let authority {
        table.bytes.withReadable { output.appendField("Host", $0.bytes(at: authority)) }
      } else {
        output.appendField("Host", otherwise)
      }
    case .addedByCaller: break
    }
    table.write(to: &output) { _, _ in true }
    output.append(changes.block)
    output.appendFraming(framing)
  }
}
