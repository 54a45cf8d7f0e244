import Bytes

/// A string of a JSON text: where it stands between its quotes, found well formed and not yet decoded.
struct JSONString: Equatable {
  var range: ByteRange
  var hasEscapes: Bool

  /// Whether the string means `other`, byte for byte; `text` must be the one that it was found in.
  func equals(_ other: Span<UInt8>, in text: Span<UInt8>) -> Bool {
    guard hasEscapes else { return text.bytes(at: range).equals(other) }
    var bytes = bytes(in: text)
    for index in other.indices where bytes.next() != other[index] { return false }
    return bytes.next() == nil
  }

  /// The string's UTF-8; `text` must be the one that it was found in.
  func decoded(in text: Span<UInt8>) -> [UInt8] {
    guard hasEscapes else { return [UInt8](copying: text.bytes(at: range)) }
    // No escape is shorter than what it stands for.
    return [UInt8](capacity: range.count) { decoded in
      var bytes = bytes(in: text)
      while let byte = bytes.next() { decoded.append(byte) }
    }
  }

  /// The string's UTF-8, one byte after the other; `text` must be the one that it was found in.
  @_lifetime(copy text)
  func bytes(in text: Span<UInt8>) -> JSONStringBytes { JSONStringBytes(text.bytes(at: range)) }
}

/// What stands between the quotes of a string that was found well formed, as the bytes that it means.
struct JSONStringBytes: ~Escapable {
  private let raw: Span<UInt8>
  private var index = 0
  /// The rest of what an escaped code point stands for.
  private var pending = UTF8.EncodedScalar()

  @_lifetime(copy raw)
  init(_ raw: Span<UInt8>) { self.raw = raw }

  /// The next byte; nil behind the last.
  mutating func next() -> UInt8? {
    if !pending.isEmpty { return pending.removeFirst() }
    guard index < raw.count else { return nil }
    let byte = raw[index]
    guard byte == UInt8(ascii: "\\") else {
      index += 1
      return byte
    }
    if let byte = JSONEscape.byte(raw[index + 1]) {
      index += 2
      return byte
    }
    pending = nextCodePoint()
    return pending.removeFirst()
  }

  /// What `\uXXXX`, or a pair of them, stands for. The reader has checked it.
  private mutating func nextCodePoint() -> UTF8.EncodedScalar {
    var codePoint = JSONEscape.codeUnit(at: index, of: raw) ?? 0
    index += 6
    if JSONEscape.isHighSurrogate(codePoint), let low = JSONEscape.codeUnit(at: index, of: raw) {
      codePoint = 0x10000 + (codePoint & 0x3FF) << 10 + low & 0x3FF
      index += 6
    }
    return Unicode.Scalar(codePoint).flatMap { UTF8.encode($0) } ?? UTF8.encodedReplacementCharacter
  }
}

/// The escapes of RFC 8259 section 7.
enum JSONEscape {
  /// The byte that a backslash and `letter` stand for.
  static func byte(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }

  /// The UTF-16 code unit of the six bytes `\uXXXX` at `start`; nil when it is something else.
  static func codeUnit(at start: Int, of bytes: Span<UInt8>) -> UInt32? {
    guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else { return nil }
    var unit: UInt32 = 0
    for index in start + 2..<start + 6 {
      guard let digit = Hexadecimal.value(bytes[index]) else { return nil }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  static func isHighSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xD800 }
  static func isLowSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xDC00 }
}
