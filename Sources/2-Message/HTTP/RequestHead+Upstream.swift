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
  /// 4. Everything `X-App-Attest-…` goes, and every forwarding field but what `believesForwarding` says a trusted peer wrote.
  ///    `X-Forwarded-For` and `X-Request-Id` always go, since the caller writes them anew.
  ///
  /// Runs after routing, since inputs are the route's, and before the gate.
  public func prepareFields(_ policy: FieldPolicy, believesForwarding: Bool = false) -> HeadRefusal? {
    parser.prepareFields(policy, believesForwarding: believesForwarding)
  }

  /// Writes the request anew for an upstream, with the target as it was sent. The head is not ended: the caller adds fields of its own
  /// by ``Bytes/ByteQueue/appendField(_:_:)`` and ends it by ``Bytes/ByteQueue/appendEndOfHead()``.
  ///
  /// `framing` is that of the body as it will be sent, which may be another than it came in.
  public func writeUpstream(to output: inout ByteQueue, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges) {
    parser.writeMethod(to: &output)
    parser.writeTarget(to: &output)
    parser.writeFields(to: &output, host: host, framing: framing, changes: changes)
  }

  /// As ``writeUpstream(to:host:framing:changes:)``, with another path and query (without `?`; nil for none): the form that was matched.
  public func writeUpstream(
    to output: inout ByteQueue, path: Span<UInt8>, query: Span<UInt8>?, host: UpstreamHost, framing: BodyFraming, changes: FieldChanges
  ) {
    parser.writeMethod(to: &output)
    output.append(path)
    if let query {
      output.append(UInt8(ascii: "?"))
      output.append(query)
    }
    parser.writeFields(to: &output, host: host, framing: framing, changes: changes)
  }
}
