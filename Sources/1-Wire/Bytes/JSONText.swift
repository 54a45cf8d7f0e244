/// JSON strings (RFC 8259 section 7) of bytes that anybody may have sent: for problem documents and the access log.
public enum JSONText {
  /// Appends `bytes` as a JSON string with its quotes.
  ///
  /// Controls, quotes and backslashes are escaped; what is not UTF-8 becomes U+FFFD, so that the output always is.
  public static func append(_ bytes: Span<UInt8>, to output: inout ByteQueue) {
    output.append(UInt8(ascii: "\""))
    var plainStart = 0
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte >= 0x80 {
        let length = scalarLength(bytes, at: index)
        if length > 0 {
          index += length
          continue
        }
      } else if byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F {
        index += 1
        continue
      }
      output.append(bytes.extracting(plainStart..<index))
      appendEscape(byte, to: &output)
      index += 1
      plainStart = index
    }
    output.append(bytes.extracting(plainStart..<bytes.count))
    output.append(UInt8(ascii: "\""))
  }

  /// Appends `text` as a JSON string with its quotes.
  public static func append(_ text: String, to output: inout ByteQueue) {
    append(Array(text.utf8).span, to: &output)
  }

  private static func appendEscape(_ byte: UInt8, to output: inout ByteQueue) {
    switch byte {
    case UInt8(ascii: "\""): output.append("\\\"")
    case UInt8(ascii: "\\"): output.append("\\\\")
    case 0x09: output.append("\\t")
    case 0x0A: output.append("\\n")
    case 0x0D: output.append("\\r")
    case 0x80...: output.append("\u{FFFD}" as StaticString)
    default:
      output.append("\\u00")
      output.append(Hexadecimal.digit(byte >> 4))
      output.append(Hexadecimal.digit(byte & 15))
    }
  }

  /// Number of bytes of the well-formed UTF-8 sequence that begins at `index` with a byte above 0x7F, 0 when there is none
  /// (Unicode table 3-7: no overlong form, no surrogate, nothing above U+10FFFF).
  private static func scalarLength(_ bytes: Span<UInt8>, at index: Int) -> Int {
    let first = bytes[index]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return 0
    }
    guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return 0 }
    for offset in 2..<max(length, 2) where bytes[index + offset] & 0xC0 != 0x80 { return 0 }
    return length
  }
}
