import Bytes

extension RequestParser {
  /// ``RequestHead/prepareFields(_:believesForwarding:)``.
  mutating func prepareFields(_ policy: FieldPolicy, believesForwarding: Bool) -> HeadRefusal? {
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
      case .twin, .appAttestTwin: flags.insert(.dropped)
      case .appAttest: flags.formUnion(policy.keepsInputs && isInput(field, policy) ? [] : .withheld)
      case .forwardedFor:
        forwardedForEntries += table.bytes.withReadable { 1 + $0.bytes(at: field.valueRange).countOfCommas }
        guard forwardedForEntries <= HeadLimits.forwardedForEntriesMax else { return .forwardingLoop }
        flags.insert(.withheld)
      case .forwarding, .forwardedProto, .forwardedHost:
        if !believesForwarding { flags.insert(.withheld) } else if hasNames { flags.formUnion(namedBy(policy, field)) }
      case .requestID, .pathOverride, .host, .contentLength, .expect: flags.insert(.withheld)
      case .other, .accept, .authorization, .cookie, .date, .cacheControl, .targetedCacheControl:
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

  /// What the route's inputs and the upstream's changes make of a field; what reads like one of them, without being it, goes.
  private func namedBy(_ policy: FieldPolicy, _ field: Field) -> Field.Flags {
    table.bytes.withReadable { bytes in
      let name = bytes.bytes(at: field.nameRange)
      if policy.changes.names.containsTwin(of: name) { return .withheld }
      guard policy.inputs.containsTwin(of: name) else { return [] }
      guard policy.inputs.contains(name) else { return .dropped }
      return policy.keepsInputs ? [] : .withheld
    }
  }

  // MARK: Writing

  func writeMethod(to output: inout ByteQueue) {
    precondition(isPrepared, "fields are prepared before they are written")
    table.bytes.withReadable { output.append($0.bytes(at: line.methodRange)) }
    output.append(UInt8(ascii: " "))
  }

  func writeTarget(to output: inout ByteQueue) {
    table.bytes.withReadable { output.append($0.bytes(at: originTarget)) }
  }

  /// The version, and every field that is passed on; `Host` comes first where it is known, as RFC 9110 section 7.2 asks.
  func writeFields(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    output.append(" HTTP/1.1\r\n")
    switch host {
    case .literal(let text): output.appendField("Host", text)
    case .client(let otherwise):
      if let hostField {
        table.bytes.withReadable { output.appendField("Host", $0.bytes(at: hostField)) }
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
