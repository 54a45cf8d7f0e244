import Bytes

/// `host [":" port]` (RFC 9110 section 7.2), the only authority that is taken: no user information, no percent escapes, no zone.
struct Authority {
  /// Length of the host without the port, brackets included, in bytes from the start.
  let hostByteCount: Int

  /// Nil when `text` is no authority.
  ///
  /// A registered name may hold letters, digits and `-._~`: what else RFC 3986 permits names no host and is read in more than one way.
  init?(_ text: Span<UInt8>) {
    guard !text.isEmpty, text.count <= 261 else { return nil }
    var end = 0
    if text[0] == UInt8(ascii: "[") {
      while end < text.count, text[end] != UInt8(ascii: "]") { end += 1 }
      guard end < text.count, Self.isIPv6Address(text.extracting(1..<end)) else { return nil }
      end += 1
    } else {
      // RFC 1034 section 3.1: only the root's label, at the end, is empty. Some drop the others, so that the name is another one to them.
      var previous = Self.dot
      while end < text.count, Self.isNameByte(text[end]) {
        if text[end] == Self.dot && previous == Self.dot { return nil }
        previous = text[end]
        end += 1
      }
      guard end > 0 else { return nil }
    }
    hostByteCount = end
    guard end < text.count else { return }
    guard text[end] == UInt8(ascii: ":"), Self.isPort(text.extracting((end + 1)..<text.count)) else { return nil }
  }

  private static let dot = UInt8(ascii: ".")

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// At most five digits, at most 65535; none is the scheme's default (RFC 3986 section 3.2.3).
  private static func isPort(_ digits: Span<UInt8>) -> Bool {
    if digits.isEmpty { return true }
    guard digits.count <= 5, let port = FramingFields.decimal(digits) else { return false }
    return port <= 65_535
  }

  /// RFC 3986 section 3.2.2: eight groups of up to four hexadecimal digits, one run of zero groups as `::`, the last two perhaps as IPv4.
  static func isIPv6Address(_ text: Span<UInt8>) -> Bool {
    var groups = 0
    var isShortened = false
    var index = 0
    let count = text.count
    if count >= 2, text[0] == UInt8(ascii: ":") {
      guard text[1] == UInt8(ascii: ":") else { return false }
      isShortened = true
      index = 2
    }
    while index < count {
      let start = index
      while index < count, Hexadecimal.value(text[index]) != nil { index += 1 }
      if index < count, text[index] == UInt8(ascii: ".") {
        guard isIPv4Address(text.extracting(start..<count)) else { return false }
        groups += 2
        return isShortened ? groups < 8 : groups == 8
      }
      guard index > start, index - start <= 4 else { return false }
      groups += 1
      guard index < count else { break }
      guard text[index] == UInt8(ascii: ":"), index + 1 < count else { return false }
      index += 1
      if text[index] == UInt8(ascii: ":") {
        guard !isShortened else { return false }
        isShortened = true
        index += 1
      }
    }
    return isShortened ? groups < 8 : groups == 8
  }

  private static func isIPv4Address(_ text: Span<UInt8>) -> Bool {
    var parts = 0
    var index = 0
    while true {
      let start = index
      while index < text.count, ASCII.isDigit(text[index]) { index += 1 }
      let digits = text.extracting(start..<index)
      guard digits.count <= 3, let part = FramingFields.decimal(digits), part <= 255 else { return false }
      guard digits.count == 1 || digits[0] != UInt8(ascii: "0") else { return false }
      parts += 1
      guard index < text.count else { return parts == 4 }
      guard text[index] == UInt8(ascii: "."), parts < 4 else { return false }
      index += 1
    }
  }
}
