/// Base64 as the protocol takes it (RFC 4648 sections 4 and 5): either alphabet, padded or not, and nothing else.
public enum Base64 {
  /// Decodes `text`, at most `maximum` bytes.
  ///
  /// Nil for white space, foreign characters, the two alphabets mixed, wrong padding, non-zero trailing bits, or a longer value:
  /// two texts that decode alike would be two names of one thing.
  public static func decode(_ text: Span<UInt8>, maximum: Int) -> [UInt8]? {
    guard let digits = digitCount(text), digits * 6 / 8 <= maximum else { return nil }
    // On the stack first: an array made of a buffer costs half of one that is filled.
    return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: digits * 6 / 8) { output in
      unsafe decode(text, digits, to: output) ? unsafe Array(UnsafeBufferPointer(output)) : nil
    }
  }

  /// Decodes `text`, as ``decode(_:maximum:)-(Span<UInt8>,_)`` does.
  public static func decode(_ text: String, maximum: Int) -> [UInt8]? {
    decode(Array(text.utf8).span, maximum: maximum)
  }

  /// Decodes `text` into `bytes`, which it must fill exactly; without an allocation. What is left there after a failure means nothing.
  public static func decode(_ text: Span<UInt8>, filling bytes: inout MutableSpan<UInt8>) -> Bool {
    decode(text, to: &bytes) == bytes.count
  }

  /// Decodes `text` to the front of `bytes`, without an allocation; how many bytes it is. Nil for what
  /// ``decode(_:maximum:)-(Span<UInt8>,_)`` refuses, and for more than there is room for; what is left there then means nothing.
  public static func decode(_ text: Span<UInt8>, to bytes: inout MutableSpan<UInt8>) -> Int? {
    guard let digits = digitCount(text), digits * 6 / 8 <= bytes.count else { return nil }
    return unsafe bytes.withUnsafeMutableBufferPointer { unsafe decode(text, digits, to: $0) } ? digits * 6 / 8 : nil
  }

  /// Standard base64, padded: Apple's form of a key identifier.
  public static func encode(_ bytes: Span<UInt8>) -> String {
    unsafe String(unsafeUninitializedCapacity: characterCount(bytes.count, .standard)) { unsafe encode(bytes, .standard, to: $0) }
  }

  /// base64url without padding.
  public static func encodeURL(_ bytes: Span<UInt8>) -> String {
    unsafe String(unsafeUninitializedCapacity: characterCount(bytes.count, .url)) { unsafe encode(bytes, .url, to: $0) }
  }

  // MARK: Decoding

  /// The digits without their padding, nil when the length or the padding cannot be right.
  private static func digitCount(_ text: Span<UInt8>) -> Int? {
    var digits = text.count
    while digits > 0 && text.count - digits < 2 && text[digits - 1] == UInt8(ascii: "=") { digits -= 1 }
    let padding = text.count - digits
    guard digits % 4 != 1 else { return nil }
    guard padding == 0 || text.count % 4 == 0 else { return nil }
    return digits
  }

  /// Decodes the first `digits` characters of `text`, a number that ``digitCount(_:)`` gave, to `output`, which has room for `digits` × 6 / 8 bytes.
  private static func decode(_ text: Span<UInt8>, _ digits: Int, to output: UnsafeMutableBufferPointer<UInt8>) -> Bool {
    precondition(digits <= text.count && digits * 6 / 8 <= output.count)
    // Four characters are three bytes; the last two or three are one or two. No index goes beyond `digits` and `digits` × 6 / 8.
    return unsafe decodingTables.withUnsafeBufferPointer { tables in
      let (first, second) = unsafe (UnsafeBufferPointer(rebasing: tables[0..<256]), UnsafeBufferPointer(rebasing: tables[256..<512]))
      let (third, fourth) = unsafe (UnsafeBufferPointer(rebasing: tables[512..<768]), UnsafeBufferPointer(rebasing: tables[768..<1024]))
      return unsafe text.withUnsafeBufferPointer { text in
        var seen: UInt32 = 0
        var place = 0
        var index = 0
        while index + 4 <= digits {
          let firstHalf = unsafe first[Int(text[index])] | second[Int(text[index + 1])]
          let group = unsafe firstHalf | third[Int(text[index + 2])] | fourth[Int(text[index + 3])]
          seen |= group
          unsafe output[place] = UInt8(truncatingIfNeeded: group >> 16)
          unsafe output[place + 1] = UInt8(truncatingIfNeeded: group >> 8)
          unsafe output[place + 2] = UInt8(truncatingIfNeeded: group)
          index += 4
          place += 3
        }
        guard index < digits else { return seen < bothAlphabets }
        var rest = unsafe first[Int(text[index])] | second[Int(text[index + 1])]
        if index + 2 < digits { rest |= unsafe third[Int(text[index + 2])] }
        seen |= rest
        unsafe output[place] = UInt8(truncatingIfNeeded: rest >> 16)
        if index + 2 < digits { unsafe output[place + 1] = UInt8(truncatingIfNeeded: rest >> 8) }
        // What no whole byte takes of the last characters must be zero.
        return rest & (index + 2 < digits ? 0xFF : 0xFFFF) == 0 && seen < bothAlphabets
      }
    }
  }

  /// Bit 30 marks the standard alphabet's own digits, bit 31 the URL alphabet's.
  private static let bothAlphabets: UInt32 = 0xC000_0000

  /// What a character means as the first, second, third and fourth of its group: its six bits in their place among the group's 24, and
  /// the mark of its alphabet. What is no digit looks as if it were of both.
  private static let decodingTables: [UInt32] = {
    var tables = [UInt32](repeating: bothAlphabets, count: 4 * 256)
    for place in 0..<4 {
      let shift = UInt32(18 - 6 * place)
      for (alphabet, mark) in [(Alphabet.standard, UInt32(0x4000_0000)), (.url, 0x8000_0000)] {
        for (value, letter) in alphabet.letters.description.utf8.enumerated() {
          tables[place * 256 + Int(letter)] = UInt32(value) << shift | (value < 62 ? 0 : mark)
        }
      }
    }
    return tables
  }()

  // MARK: Encoding

  enum Alphabet {
    /// Padded.
    case standard
    /// Not padded.
    case url

    var letters: StaticString {
      switch self {
      case .standard: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
      case .url: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
      }
    }
  }

  static func characterCount(_ byteCount: Int, _ alphabet: Alphabet) -> Int {
    switch alphabet {
    case .standard: (byteCount + 2) / 3 * 4
    case .url: (byteCount * 4 + 2) / 3
    }
  }

  /// Writes the text of `bytes` to `output`, which has room for ``characterCount(_:_:)`` characters; how many it is.
  static func encode(_ bytes: Span<UInt8>, _ alphabet: Alphabet, to output: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let count = bytes.count
    precondition(output.count >= characterCount(count, alphabet))
    // Every index into the letters is below 64, every one into `output` below the number of characters.
    let letters = unsafe alphabet.letters.utf8Start
    var place = 0
    var index = 0
    while index + 3 <= count {
      let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
      unsafe output[place] = letters[Int(group >> 18)]
      unsafe output[place + 1] = letters[Int(group >> 12 & 63)]
      unsafe output[place + 2] = letters[Int(group >> 6 & 63)]
      unsafe output[place + 3] = letters[Int(group & 63)]
      index += 3
      place += 4
    }
    guard index < count else { return place }
    let group = UInt32(bytes[index]) << 16 | (index + 1 < count ? UInt32(bytes[index + 1]) << 8 : 0)
    unsafe output[place] = letters[Int(group >> 18)]
    unsafe output[place + 1] = letters[Int(group >> 12 & 63)]
    place += 2
    if index + 1 < count {
      unsafe output[place] = letters[Int(group >> 6 & 63)]
      place += 1
    }
    while alphabet == .standard && place % 4 != 0 {
      unsafe output[place] = UInt8(ascii: "=")
      place += 1
    }
    return place
  }
}

extension ByteQueue {
  /// Appends the standard base64 of `bytes`, padded.
  public mutating func append(base64 bytes: Span<UInt8>) { append(bytes, .standard) }

  /// Appends the base64url of `bytes`, without padding.
  public mutating func append(base64URL bytes: Span<UInt8>) { append(bytes, .url) }

  private mutating func append(_ bytes: Span<UInt8>, _ alphabet: Base64.Alphabet) {
    _ = unsafe appendFilling(minimum: Base64.characterCount(bytes.count, alphabet)) { room in
      unsafe Base64.encode(bytes, alphabet, to: room.bindMemory(to: UInt8.self))
    }
  }
}
