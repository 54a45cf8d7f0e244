import Bytes

/// What the `Connection` fields of one head say about the connection itself (RFC 9110 section 7.6.1).
struct ConnectionOptions {
  private(set) var hasClose = false
  private(set) var hasKeepAlive = false
  /// Whether the connection is to speak another protocol (RFC 9110 section 7.8).
  private(set) var hasUpgrade = false
  /// Options that name fields, or are unknown.
  private(set) var otherCount = 0

  /// Takes one field's value: a list of tokens, empty elements passed over.
  mutating func take(_ value: ByteRange, in bytes: Span<UInt8>) -> HeadRefusal? {
    var elements = ListElements(value)
    while let element = elements.next(in: bytes) {
      let option = bytes.bytes(at: element)
      if option.isEmpty { continue }
      if option.equalsIgnoringCase("keep-alive") {
        hasKeepAlive = true
      } else if option.equalsIgnoringCase("close") {
        hasClose = true
      } else {
        otherCount += 1
        if option.equalsIgnoringCase("upgrade") { hasUpgrade = true }
        guard Token.isToken(option), otherCount <= HeadLimits.connectionOptionsMax else { return .connectionMalformed }
      }
    }
    return nil
  }
}
