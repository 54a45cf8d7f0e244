/// Base64 as the protocol takes it (RFC 4648 sections 4 and 5): either alphabet, padded or not, and nothing else.
public enum Base64 {
  /// Decodes `text`, at most `maximum` bytes.
  ///
  /// Nil for white space, foreign characters, the two alphabets mixed, wrong padding, non-zero trailing bits, or a longer value:
  /// two texts that decode alike would be two names of one thing.
  public static func decode(_ text: Span<UInt8>, maximum: Int) -> [UInt8]? {
    guard let digits = digitCount(text) else { return nil }
    let count = digits * 6 / 8
    guard count <= maximum else { return nil }
    var bytes = [UInt8]()
    bytes.reserveCapacity(count)
    var accumulator: UInt32 = 0
    var bits = 0
    var alphabets: UInt8 = 0
    for index in 0..<digits {
      let entry = decodingTable[Int(text[index])]
      if entry == invalid { return nil }
      alphabets |= entry & 0xC0
      accumulator = accumulator << 6 | UInt32(entry & 0x3F)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
      }
    }
    let trailing = accumulator & ((1 << UInt32(bits)) - 1)
    return trailing == 0 && alphabets != 0xC0 ? bytes : nil
  }

  /// Decodes `text`, as ``decode(_:maximum:)-(Span<UInt8>,_)`` does.
  public static func decode(_ text: String, maximum: Int) -> [UInt8]? {
    decode(Array(text.utf8).span, maximum: maximum)
  }

  /// Standard base64, padded: Apple's form of a key identifier.
  public static func encode(_ bytes: Span<UInt8>) -> String {
    String(decoding: digits(bytes, alphabet: standardAlphabet, padded: true), as: UTF8.self)
  }

  /// base64url without padding.
  public static func encodeURL(_ bytes: Span<UInt8>) -> String {
    String(decoding: digits(bytes, alphabet: urlAlphabet, padded: false), as: UTF8.self)
  }

  /// The digits without their padding, nil when the length or the padding cannot be right.
  private static func digitCount(_ text: Span<UInt8>) -> Int? {
    var digits = text.count
    while digits > 0 && text.count - digits < 2 && text[digits - 1] == UInt8(ascii: "=") { digits -= 1 }
    let padding = text.count - digits
    guard digits % 4 != 1 else { return nil }
    guard padding == 0 || text.count % 4 == 0 else { return nil }
    return digits
  }

  private static func digits(_ bytes: Span<UInt8>, alphabet: StaticString, padded: Bool) -> [UInt8] {
    var text = [UInt8]()
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    let letters = Array(alphabet.description.utf8)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let group =
        UInt32(bytes[index]) << 16 | (left > 1 ? UInt32(bytes[index + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[index + 2]) : 0)
      text.append(letters[Int(group >> 18)])
      text.append(letters[Int(group >> 12 & 63)])
      if left > 1 { text.append(letters[Int(group >> 6 & 63)]) } else if padded { text.append(UInt8(ascii: "=")) }
      if left > 2 { text.append(letters[Int(group & 63)]) } else if padded { text.append(UInt8(ascii: "=")) }
      index += 3
    }
    return text
  }

  private static let standardAlphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  private static let urlAlphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  /// No value: bit 6 marks the standard alphabet's own digits, bit 7 the URL alphabet's; both together are no digit's.
  private static let invalid: UInt8 = 0xFF

  private static let decodingTable: [UInt8] = {
    var table = [UInt8](repeating: invalid, count: 256)
    for (value, letter) in standardAlphabet.description.utf8.enumerated() { table[Int(letter)] = UInt8(value) }
    table[Int(UInt8(ascii: "+"))] = 62 | 0x40
    table[Int(UInt8(ascii: "/"))] = 63 | 0x40
    table[Int(UInt8(ascii: "-"))] = 62 | 0x80
    table[Int(UInt8(ascii: "_"))] = 63 | 0x80
    return table
  }()
}
