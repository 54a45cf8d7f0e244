/// An IPv4 or IPv6 address, held in place: what peers, chains of proxies and limits by address are compared by.
///
/// An IPv4 address inside IPv6 (`::ffff:1.2.3.4`, what a dual-stack socket tells of an IPv4 peer) is the IPv4 address.
public struct IPAddress: Sendable, Hashable {
  /// Whether it is an IPv4 address.
  public let isIPv4: Bool
  /// The first eight of the 16 bytes of IPv6; 0 for IPv4.
  public let high: UInt64
  /// The last eight bytes of IPv6, or the four of IPv4.
  public let low: UInt64

  /// An IPv4 address from its 32 bits.
  public init(ipv4 bits: UInt32) {
    isIPv4 = true
    high = 0
    low = UInt64(bits)
  }

  /// An IPv6 address from its 16 bytes.
  public init(high: UInt64, low: UInt64) {
    let isMapped = high == 0 && low >> 32 == 0xFFFF
    isIPv4 = isMapped
    self.high = high
    self.low = isMapped ? low & 0xFFFF_FFFF : low
  }

  /// An address from its 4 or 16 bytes in network order; nil for another length.
  public init?(networkOrder bytes: Span<UInt8>) {
    func word(_ range: Range<Int>) -> UInt64 {
      var word: UInt64 = 0
      for index in range { word = word << 8 | UInt64(bytes[index]) }
      return word
    }
    switch bytes.count {
    case 4: self.init(ipv4: UInt32(truncatingIfNeeded: word(0..<4)))
    case 16: self.init(high: word(0..<8), low: word(8..<16))
    default: return nil
    }
  }
}

// MARK: - Text

extension IPAddress {
  /// The longest text of an address, in bytes.
  public static let textBytesMax = 45

  /// The address that `text` writes: four numbers without leading zeros, or the groups of RFC 4291 section 2.2; no zone, no brackets.
  public init?(_ text: Span<UInt8>) {
    guard text.count <= Self.textBytesMax else { return nil }
    for index in text.indices where text[index] == UInt8(ascii: ":") {
      guard let address = Self.ipv6(text) else { return nil }
      self = address
      return
    }
    guard let bits = Self.ipv4(text) else { return nil }
    self.init(ipv4: bits)
  }

  private static func ipv4(_ text: Span<UInt8>) -> UInt32? {
    var bits: UInt32 = 0
    var parts = 0
    var index = 0
    while true {
      let start = index
      var part: UInt32 = 0
      while index < text.count, index - start < 3, ASCII.isDigit(text[index]) {
        part = part * 10 + UInt32(text[index] - UInt8(ascii: "0"))
        index += 1
      }
      // A leading zero means octal to some readers.
      guard index > start, part <= 255, index - start == 1 || text[start] != UInt8(ascii: "0") else { return nil }
      bits = bits << 8 | part
      parts += 1
      guard index < text.count else { return parts == 4 ? bits : nil }
      guard parts < 4, text[index] == UInt8(ascii: ".") else { return nil }
      index += 1
    }
  }

  /// The groups before and behind `::`.
  private struct Groups {
    var values = InlineArray<8, UInt16>(repeating: 0)
    var count = 0
    /// Number of groups before `::`.
    var gap: Int?

    mutating func append(_ value: UInt16) -> Bool {
      guard count < 8 else { return false }
      values[count] = value
      count += 1
      return true
    }

    /// The address, if the groups are eight, or fewer with a gap.
    var address: IPAddress? {
      guard gap == nil ? count == 8 : count < 8 else { return nil }
      var high: UInt64 = 0
      var low: UInt64 = 0
      for index in 0..<8 {
        let behind = index - (8 - count)
        let value = UInt64(index < gap ?? 8 ? values[index] : behind >= gap ?? 8 ? values[behind] : 0)
        if index < 4 { high = high << 16 | value } else { low = low << 16 | value }
      }
      return IPAddress(high: high, low: low)
    }
  }

  private static func ipv6(_ text: Span<UInt8>) -> IPAddress? {
    let colon = UInt8(ascii: ":")
    var groups = Groups()
    var index = 0
    if text.count >= 2, text[0] == colon {
      guard text[1] == colon else { return nil }
      groups.gap = 0
      index = 2
    }
    while index < text.count {
      let start = index
      var value: UInt16 = 0
      while index < text.count, index - start < 4, let digit = Hexadecimal.value(text[index]) {
        value = value << 4 | UInt16(digit)
        index += 1
      }
      if index < text.count, text[index] == UInt8(ascii: ".") {
        guard let bits = ipv4(text.extracting(start..<text.count)) else { return nil }
        guard groups.append(UInt16(bits >> 16)), groups.append(UInt16(truncatingIfNeeded: bits)) else { return nil }
        return groups.address
      }
      guard index > start, groups.append(value) else { return nil }
      guard index < text.count else { break }
      guard text[index] == colon, index + 1 < text.count else { return nil }
      index += 1
      if text[index] == colon {
        guard groups.gap == nil else { return nil }
        groups.gap = groups.count
        index += 1
      }
    }
    return groups.address
  }
}

extension IPAddress: CustomStringConvertible {
  /// As RFC 5952 writes it: `192.0.2.1`, `2001:db8::1`.
  public var description: String {
    if isIPv4 { return "\(low >> 24).\(low >> 16 & 255).\(low >> 8 & 255).\(low & 255)" }
    let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 & 3))) }
    func text(_ range: Range<Int>) -> String { groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
    guard let run = Self.longestRunOfZeros(groups) else { return text(0..<8) }
    return text(0..<run.lowerBound) + "::" + text(run.upperBound..<8)
  }

  /// RFC 5952 section 4.2: the first of the longest runs, of two groups at least.
  private static func longestRunOfZeros(_ groups: [UInt16]) -> Range<Int>? {
    var best: Range<Int>?
    var start = 0
    for index in 0...8 where index == 8 || groups[index] != 0 {
      if index - start > max(1, best?.count ?? 0) { best = start..<index }
      start = index + 1
    }
    return best
  }
}
