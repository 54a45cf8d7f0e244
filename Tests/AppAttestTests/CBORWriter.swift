/// Writes CBOR for tests, good and bad: whatever is put in comes out.
enum Item: Sendable {
  case number(Int)
  case bytes([UInt8])
  case text(String)
  case array([Item])
  case map([(Item, Item)])
  case raw([UInt8])

  var encoded: [UInt8] {
    switch self {
    case .number(let value) where value < 0: Self.head(1, -1 - value)
    case .number(let value): Self.head(0, value)
    case .bytes(let bytes): Self.head(2, bytes.count) + bytes
    case .text(let text): Self.head(3, text.utf8.count) + Array(text.utf8)
    case .array(let items): Self.head(4, items.count) + items.flatMap(\.encoded)
    case .map(let members): Self.head(5, members.count) + members.flatMap { $0.0.encoded + $0.1.encoded }
    case .raw(let bytes): bytes
    }
  }

  static func head(_ majorType: UInt8, _ argument: Int) -> [UInt8] {
    let type = majorType << 5
    return switch argument {
    case ..<24: [type | UInt8(argument)]
    case ..<256: [type | 24, UInt8(argument)]
    case ..<65_536: [type | 25, UInt8(argument >> 8), UInt8(argument & 255)]
    default: [type | 26] + [24, 16, 8, 0].map { UInt8(argument >> $0 & 255) }
    }
  }
}
