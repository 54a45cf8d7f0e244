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
    parser.prepareFields(policy)
  }

  /// Writes the request anew for an upstream, with the target as it was sent. The head is not ended: the caller adds fields of its own
  /// by ``Bytes/ByteQueue/appendField(_:_:)`` and ends it by ``Bytes/ByteQueue/appendEndOfHead()``.
  ///
  /// `framing` is that of the body as it will be sent, which may be another than it came in.
  public func writeUpstream(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    precondition(parser.isPrepared, "fields are prepared before they are written")
    parser.table.bytes.withReadable { bytes in
      output.append(bytes.bytes(at: parser.line.methodRange))
      output.append(UInt8(ascii: " "))
      output.append(bytes.bytes(at: parser.originTarget))
    }
    writeFields(to: &output, host: host, framing: framing, changes: changes)
  }

  /// As ``writeUpstream(to:host:framing:changes:)``, with another path and query (without `?`; nil for none): the form that was matched.
  public func writeUpstream(
    to output: inout ByteQueue, path: Span<UInt8>, query: Span<UInt8>?, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges
  ) {
    precondition(parser.isPrepared, "fields are prepared before they are written")
    parser.table.bytes.withReadable { bytes in output.append(bytes.bytes(at: parser.line.methodRange)) }
    output.append(UInt8(ascii: " "))
    output.append(path)
    if let query {
      output.append(UInt8(ascii: "?"))
      output.append(query)
    }
    writeFields(to: &output, host: host, framing: framing, changes: changes)
  }

  /// `Host` comes first where it is known, as RFC 9110 section 7.2 asks.
  private func writeFields(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    output.append(" HTTP/1.1\r\n")
    switch host {
    case .literal(let text): output.appendField("Host", text)
    case .client(let otherwise):
      if let authority {
        parser.table.bytes.withReadable { output.appendField("Host", $0.bytes(at: authority)) }
      } else {
        output.appendField("Host", otherwise)
      }
    case .addedByCaller: break
    }
    parser.table.write(to: &output) { _, _ in true }
    output.append(changes.block)
    output.appendFraming(framing)
  }
}
