import Bytes

/// Version 1 of the PROXY protocol: a line of text.
enum ProxyLine {
  /// Reads `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443` CRLF (section 2.1); `bytes` is not empty.
  static func parse(_ bytes: Span<UInt8>) -> ProxyHeaderOutcome {
    let signature: StaticString = "PROXY "
    guard bytes.extracting(first: min(6, bytes.count)).isPrefix(of: signature) else { return .malformed(.signature) }
    let limit = min(bytes.count, ProxyHeader.lineBytesMax)
    var end = 6
    while end < limit, bytes[end] != 0x0D {
      // Text and single spaces: a line feed alone, and every other control, is refused where it stands.
      guard bytes[end] >= 0x20 && bytes[end] < 0x7F else { return .malformed(.line) }
      end += 1
    }
    guard end + 1 < limit else { return bytes.count >= ProxyHeader.lineBytesMax ? .malformed(.tooLong) : .incomplete }
    guard bytes[end + 1] == 0x0A else { return .malformed(.line) }
    guard let header = header(bytes.extracting(6..<end)) else { return .malformed(.line) }
    return .complete(header, byteCount: end + 2)
  }

  /// What follows `PROXY `.
  private static func header(_ line: Span<UInt8>) -> ProxyHeader? {
    var rest = line
    let family = nextWord(&rest)
    // The rest of an unknown one is passed over, whatever it is.
    if family.equals("UNKNOWN") { return .local }
    let isIPv4 = family.equals("TCP4")
    guard isIPv4 || family.equals("TCP6") else { return nil }
    guard let source = address(nextWord(&rest), isIPv4: isIPv4), address(nextWord(&rest), isIPv4: isIPv4) != nil else { return nil }
    guard let sourcePort = port(nextWord(&rest)), port(rest) != nil else { return nil }
    return .client(source, port: sourcePort, isTLS: false)
  }

  /// The bytes up to the next space, which is dropped with them; all of them where there is none.
  @_lifetime(copy rest)
  @_lifetime(rest: copy rest)
  private static func nextWord(_ rest: inout Span<UInt8>) -> Span<UInt8> {
    var end = 0
    while end < rest.count, rest[end] != 0x20 { end += 1 }
    let word = rest.extracting(first: end)
    rest = rest.extracting(min(end + 1, rest.count)..<rest.count)
    return word
  }

  private static func address(_ text: Span<UInt8>, isIPv4: Bool) -> IPAddress? {
    var hasColon = false
    for index in text.indices where text[index] == UInt8(ascii: ":") { hasColon = true }
    return hasColon == isIPv4 ? nil : IPAddress(text)
  }

  /// 0 to 65535 without leading zeros.
  private static func port(_ digits: Span<UInt8>) -> UInt16? {
    guard digits.count <= 5, let number = FramingFields.decimal(digits), number <= 65_535 else { return nil }
    return digits.count > 1 && digits[0] == UInt8(ascii: "0") ? nil : UInt16(number)
  }
}
