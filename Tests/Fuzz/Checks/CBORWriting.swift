import AppAttest
import Bytes

/// Writes CBOR in the one form that the decoder takes.
enum CBORWriting {
  static func head(_ majorType: UInt8, _ argument: UInt64) -> [UInt8] {
    let type = majorType << 5
    func bytes(_ count: Int) -> [UInt8] { (0..<count).reversed().map { UInt8(truncatingIfNeeded: argument >> UInt64(8 * $0)) } }
    return switch argument {
    case ..<24: [type | UInt8(argument)]
    case ..<(1 << 8): [type | 24] + bytes(1)
    case ..<(1 << 16): [type | 25] + bytes(2)
    case ..<(1 << 32): [type | 26] + bytes(4)
    default: [type | 27] + bytes(8)
    }
  }

  static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(2, UInt64(bytes.count)) + bytes }
  static func text(_ text: String) -> [UInt8] { head(3, UInt64(text.utf8.count)) + Array(text.utf8) }
  static func array(_ items: [[UInt8]]) -> [UInt8] { head(4, UInt64(items.count)) + items.flatMap { $0 } }
  static func map(_ members: [([UInt8], [UInt8])]) -> [UInt8] {
    head(5, UInt64(members.count)) + members.flatMap { $0.0 + $0.1 }
  }

  /// `item`, which was decoded from `source`.
  static func encoded(_ item: CBOR, of source: [UInt8]) -> [UInt8] {
    switch item {
    case .unsigned(let number): head(0, number)
    case .negative(let number): head(1, number)
    case .bytes(let range): bytes(Array(source[range.start..<range.end]))
    case .text(let range): head(3, UInt64(range.count)) + source[range.start..<range.end]
    case .array(let items): array(items.map { encoded($0, of: source) })
    case .map(let members): map(members.map { (encoded($0.key, of: source), encoded($0.value, of: source)) })
    case .boolean(let value): [value ? 0xF5 : 0xF4]
    case .null: [0xF6]
    }
  }
}
