import Bytes

/// A string of a JSON text: where it stands between its quotes, found well formed and not yet decoded.
struct JSONString: Equatable {
  var range: ByteRange
  var hasEscapes: Bool

  /// Whether the string means `other`, byte for byte; `text` must be the one that it was found in.
  func equals(_ other: Span<UInt8>, in text: Span<UInt8>) -> Bool {
    let raw = text.bytes(at: range)
    return hasEscapes ? decoded(in: text).span.equals(other) : raw.equals(other)
  }

  /// The string's UTF-8; `text` must be the one that it was found in.
  func decoded(in text: Span<UInt8>) -> [UInt8] {
    let raw = text.bytes(at: range)
    guard hasEscapes else { return [UInt8](copying: raw) }
    // No escape is shorter than what it stands for.
    return [UInt8](capacity: raw.count) { decoded in
      var index = 0
      while index < raw.count {
        if raw[index] != UInt8(ascii: "\\") {
          decoded.append(raw[index])
          index += 1
        } else if let byte = JSONEscape.byte(raw[index + 1]) {
          decoded.append(byte)
          index += 2
        } else {
          index += Self.append(codePointAt: index, of: raw, to: &decoded)
        }
      }
    }
  }

  /// Appends what `\uXXXX`, or a pair of them, stands for; how many bytes it took. The reader has checked it.
  private static func append(codePointAt index: Int, of raw: Span<UInt8>, to decoded: inout OutputSpan<UInt8>) -> Int {
    guard let unit = JSONEscape.codeUnit(at: index, of: raw) else { return 6 }
    if JSONEscape.isHighSurrogate(unit), let low = JSONEscape.codeUnit(at: index + 6, of: raw) {
      append(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF, to: &decoded)
      return 12
    }
    append(unit, to: &decoded)
    return 6
  }

  private static func append(_ codePoint: UInt32, to decoded: inout OutputSpan<UInt8>) {
    guard let scalar = Unicode.Scalar(codePoint) else { return }
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { decoded.append(byte) }
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
