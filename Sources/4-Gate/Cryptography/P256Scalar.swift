/// A whole number from 1 to n − 1, where n is the order of P-256 (SEC 2 section 2.4.2): half of an ECDSA signature.
struct P256Scalar: Equatable {
  /// Big-endian words.
  private(set) var words: InlineArray<4, UInt64>

  /// n.
  static let order: InlineArray<4, UInt64> = [0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84, 0xF3B9_CAC2_FC63_2551]

  /// p − n, where p is the field's prime: an x coordinate at or above n exists for r only below this.
  static let fieldAboveOrder: InlineArray<4, UInt64> = [0, 0, 0x4319_0553_58E8_617B, 0x0C46_353D_039C_DAAE]

  /// The content of a DER INTEGER (X.690 section 8.3): nil when it is negative, zero, longer than it need be, or not below n.
  init?(integer content: Span<UInt8>) {
    guard content.count >= 1, content.count <= 33, content[0] < 0x80 else { return nil }
    var start = 0
    if content[0] == 0 {
      guard content.count > 1, content[1] >= 0x80 else { return nil }
      start = 1
    }
    guard content.count - start <= 32 else { return nil }
    words = [0, 0, 0, 0]
    var end = content.count
    for place in (0..<4).reversed() where end > start {
      let wordStart = max(start, end - 8)
      var word: UInt64 = 0
      for index in wordStart..<end { word = word << 8 | UInt64(content[index]) }
      words[place] = word
      end = wordStart
    }
    guard self.isBelow(Self.order), !isZero else { return nil }
  }

  /// n − self: (r, n − s) is as valid a signature as (r, s).
  var negated: P256Scalar {
    var result = self
    var borrow: UInt64 = 0
    for index in (0..<4).reversed() {
      let (first, firstBorrow) = Self.order[index].subtractingReportingOverflow(words[index])
      let (second, secondBorrow) = first.subtractingReportingOverflow(borrow)
      result.words[index] = second
      borrow = firstBorrow || secondBorrow ? 1 : 0
    }
    return result
  }

  /// Whether it is above n / 2.
  var isHigh: Bool { negated.isBelow(words) }

  /// Whether x = self + n is a coordinate of the field as well, the rare second case of SEC 1 section 4.1.6.
  var hasSecondCoordinate: Bool { isBelow(Self.fieldAboveOrder) }

  /// 32 bytes, big-endian.
  var bytes: InlineArray<32, UInt8> {
    InlineArray { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64((7 - $0 % 8) * 8)) }
  }

  private var isZero: Bool { words[0] | words[1] | words[2] | words[3] == 0 }

  private func isBelow(_ other: InlineArray<4, UInt64>) -> Bool {
    for index in 0..<4 where words[index] != other[index] { return words[index] < other[index] }
    return false
  }

  static func == (left: P256Scalar, right: P256Scalar) -> Bool {
    for index in 0..<4 where left.words[index] != right.words[index] { return false }
    return true
  }
}
