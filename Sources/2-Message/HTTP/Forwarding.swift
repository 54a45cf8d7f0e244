public import Bytes

/// What a trusted peer's forwarding fields say of the client behind it.
public struct Forwarding: Sendable, Equatable {
  /// The first address from the right of `X-Forwarded-For` that is not a trusted one, or the leftmost if all are; nil when there is none.
  public var client: IPAddress?
  /// Whether the client spoke TLS, by `X-Forwarded-Proto`; nil when that is not there.
  public var isTLS: Bool?
  /// The value of `X-Request-Id`, when it is one that can stand in logs and headers as it is.
  public var requestID: ByteRange?

  /// Nothing said.
  public init() {}
}

/// What ``RequestHead/forwarding(trusting:)`` finds.
public enum ForwardingOutcome: Sendable, Equatable {
  /// Fields that can be believed.
  case believed(Forwarding)
  /// Fields that no proxy should write: the request is refused rather than taken for somebody's.
  case refused(HeadRefusal)
}

extension RequestHead {
  /// The longest `X-Request-Id` that is taken over.
  static let requestIDBytesMax = 128

  /// Reads what the peer, who is trusted, says of the client; before ``prepareFields(_:believesForwarding:)``.
  ///
  /// Every entry of `X-Forwarded-For` must be an address, with a port or without, or `unknown` (RFC 7239 section 6.2); the walk from the
  /// right ends before an `unknown`.
  public func forwarding(trusting peers: TrustedPeers) -> ForwardingOutcome {
    var forwarding = Forwarding()
    switch parser.clientAddress(trusting: peers) {
    case .found(let address): forwarding.client = address
    case .refused(let refusal): return .refused(refusal)
    }
    switch field(.forwardedProto) {
    case .absent: break
    case .repeated: return .refused(.forwardedProtoMalformed)
    case .one(let range):
      guard let isTLS = withBytes({ Self.isTLS(scheme: $0.bytes(at: range)) }) else { return .refused(.forwardedProtoMalformed) }
      forwarding.isTLS = isTLS
    }
    if case .one(let range) = field(.requestID), withBytes({ Self.isRequestID($0.bytes(at: range)) }) { forwarding.requestID = range }
    return .believed(forwarding)
  }

  private static func isTLS(scheme: Span<UInt8>) -> Bool? {
    if scheme.equalsIgnoringCase("https") || scheme.equalsIgnoringCase("wss") { return true }
    return scheme.equalsIgnoringCase("http") || scheme.equalsIgnoringCase("ws") ? false : nil
  }

  /// Letters, digits and ``+-./:=@_``: what every maker of such identifiers uses, and nothing that JSON or a log reader would quote.
  private static func isRequestID(_ text: Span<UInt8>) -> Bool {
    guard !text.isEmpty, text.count <= requestIDBytesMax else { return false }
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "="), UInt8(ascii: "@"),
        UInt8(ascii: "_"):
        continue
      default: return false
      }
    }
    return true
  }

  /// Writes `X-Forwarded-For` with the entries that came, if there are any, and `peer` behind them; nothing when there are neither.
  public func writeForwardedFor(to output: inout ByteQueue, addingPeer peer: [UInt8]) {
    parser.writeForwardedFor(to: &output, addingPeer: peer)
  }
}

extension RequestParser {
  enum ClientAddress {
    case found(IPAddress?)
    case refused(HeadRefusal)
  }

  fileprivate func clientAddress(trusting peers: TrustedPeers) -> ClientAddress {
    var entries = InlineArray<32, ByteRange>(repeating: .empty)
    var count = 0
    return table.bytes.withReadable { bytes in
      for field in table.fields where field.name == .forwardedFor {
        var elements = ListElements(field.valueRange)
        while let element = elements.next(in: bytes) {
          guard count < HeadLimits.forwardedForEntriesMax else { return .refused(.forwardingLoop) }
          guard Self.isEntry(bytes.bytes(at: element)) else { return .refused(.forwardedForMalformed) }
          entries[count] = element
          count += 1
        }
        if elements.isMalformed { return .refused(.forwardedForMalformed) }
      }
      var client: IPAddress?
      while count > 0, let address = Self.address(ofEntry: bytes.bytes(at: entries[count - 1])) {
        client = address
        guard peers.contains(address) else { break }
        count -= 1
      }
      return .found(client)
    }
  }

  private static func isEntry(_ text: Span<UInt8>) -> Bool { text.equalsIgnoringCase("unknown") || address(ofEntry: text) != nil }

  /// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`.
  private static func address(ofEntry text: Span<UInt8>) -> IPAddress? {
    if let address = IPAddress(text) { return address }
    let isBracketed = !text.isEmpty && text[0] == UInt8(ascii: "[")
    guard let authority = Authority(text) else { return nil }
    let host = text.extracting(first: authority.hostByteCount)
    return IPAddress(isBracketed ? host.extracting(1..<host.count - 1) : host)
  }

  fileprivate func writeForwardedFor(to output: inout ByteQueue, addingPeer peer: [UInt8]) {
    var isFirst = true
    func begin(_ output: inout ByteQueue) {
      if isFirst { output.append("X-Forwarded-For: ") } else { output.append(", ") }
      isFirst = false
    }
    table.bytes.withReadable { bytes in
      for field in table.fields where field.name == .forwardedFor && !field.flags.contains(.dropped) {
        begin(&output)
        output.append(bytes.bytes(at: field.valueRange))
      }
    }
    if !peer.isEmpty {
      begin(&output)
      output.append(peer)
    }
    if !isFirst { output.append("\r\n") }
  }
}
