import Bytes

/// Character classes of RFC 9110 section 5.6, as bit masks over ASCII: no table to load.
enum Token {
  /// Whether `byte` may stand in a token: a letter, a digit, or one of ``!#$%&'*+-.^_`|~``.
  @inline(__always)
  static func contains(_ byte: UInt8) -> Bool {
    let mask: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return byte < 128 && (mask >> UInt64(byte & 63)) & 1 == 1
  }

  /// Whether `bytes` are a token.
  static func isToken(_ bytes: Span<UInt8>) -> Bool {
    for index in bytes.indices where !contains(bytes[index]) { return false }
    return !bytes.isEmpty
  }

  /// `range` without the spaces and tabs at its ends (OWS).
  @inline(__always)
  static func trimmed(_ range: ByteRange, in bytes: Span<UInt8>) -> ByteRange {
    var start = range.start
    var end = range.end
    while start < end, isSpace(bytes[start]) { start += 1 }
    while start < end, isSpace(bytes[end - 1]) { end -= 1 }
    return ByteRange(from: start, to: end)
  }

  /// Whether `byte` is a space or a tab.
  @inline(__always)
  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}

/// The elements of a comma-separated field value (RFC 9110 section 5.6.1); commas in quoted strings do not separate.
struct ListElements {
  private var position: Int
  private let end: Int
  /// Whether a quoted string did not end: what was read of the list means nothing then.
  private(set) var isMalformed = false

  init(_ value: ByteRange) {
    position = value.start
    end = value.end
  }

  /// The next element without the white space around it, which may be empty; nil behind the last.
  mutating func next(in bytes: Span<UInt8>) -> ByteRange? {
    guard position <= end else { return nil }
    let start = position
    var quoted = false
    while position < end {
      let byte = bytes[position]
      if quoted {
        if byte == UInt8(ascii: "\\") { position += 1 } else if byte == UInt8(ascii: "\"") { quoted = false }
      } else if byte == UInt8(ascii: "\"") {
        quoted = true
      } else if byte == UInt8(ascii: ",") {
        break
      }
      position += 1
    }
    if quoted || position > end { isMalformed = true }
    let element = ByteRange(from: start, to: min(position, end))
    position = min(position, end) + 1
    return Token.trimmed(element, in: bytes)
  }
}
