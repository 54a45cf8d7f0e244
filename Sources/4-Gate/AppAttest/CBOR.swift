public import Bytes

/// One CBOR data item (RFC 8949), as App Attest uses them: integers, byte strings, text strings, arrays, maps, booleans and null.
///
/// Decoding is strict, so that one value has one encoding: lengths are definite and minimal (RFC 8949 section 4.2.1), no map repeats a key,
/// keys are integers or text, text is UTF-8; tags, floating-point numbers and other simple values are refused. Strings are places in the
/// decoded bytes, which the caller keeps.
public enum CBOR: Sendable, Equatable {
  /// Major type 0.
  case unsigned(UInt64)
  /// Major type 1: the value is −1 − this.
  case negative(UInt64)
  /// Major type 2.
  case bytes(ByteRange)
  /// Major type 3.
  case text(ByteRange)
  /// Major type 4.
  case array([CBOR])
  /// Major type 5, in the order of the encoding.
  case map([Member])
  /// Simple values 20 and 21.
  case boolean(Bool)
  /// Simple value 22.
  case null

  /// One key and its value.
  public struct Member: Sendable, Equatable {
    /// An integer or a text string.
    public let key: CBOR
    /// Anything.
    public let value: CBOR
    /// Where the encoded key is: two keys are one when these bytes are.
    let encodedKey: ByteRange

    /// Whether the key is the text `name`; `bytes` are those the item was decoded from.
    public func isNamed(_ name: StaticString, in bytes: Span<UInt8>) -> Bool {
      guard case .text(let range) = key else { return false }
      return bytes.bytes(at: range).equals(name)
    }
  }

  /// Containers within containers; an attestation object needs 2.
  public static let depthMax = 8
  /// Items in one decoded value, itself and keys included; an attestation object needs 12.
  public static let itemCountMax = 256

  /// Decodes `bytes`, which must hold one item and nothing behind it.
  public static func decode(_ bytes: Span<UInt8>) throws(Malformed) -> CBOR {
    let (item, end) = try decodePrefix(of: bytes, from: 0)
    guard end == bytes.count else { throw Malformed("bytes follow the CBOR item", at: end) }
    return item
  }

  /// Decodes the item that begins at offset `start`, and says at which offset it ends.
  public static func decodePrefix(of bytes: Span<UInt8>, from start: Int) throws(Malformed) -> (item: CBOR, end: Int) {
    var cursor = CBORCursor(offset: start)
    let item = try cursor.item(in: bytes, depth: 0)
    return (item, cursor.offset)
  }
}

/// Where decoding is, and how many items it may still meet.
private struct CBORCursor {
  var offset: Int
  private var itemsLeft = CBOR.itemCountMax

  init(offset: Int) { self.offset = offset }

  mutating func item(in bytes: Span<UInt8>, depth: Int) throws(Malformed) -> CBOR {
    guard itemsLeft > 0 else { throw Malformed("more than \(CBOR.itemCountMax) CBOR items", at: offset) }
    itemsLeft -= 1
    let start = offset
    let initial = try byte(in: bytes)
    let majorType = initial >> 5
    if majorType == 7 { return try simple(initial, at: start) }
    let argument = try argument(of: initial, in: bytes)
    switch majorType {
    case 0: return .unsigned(argument)
    case 1: return .negative(argument)
    case 2: return .bytes(try string(argument, in: bytes))
    case 3: return .text(try text(argument, in: bytes))
    case 4: return .array(try array(argument, in: bytes, depth: depth))
    case 5: return .map(try map(argument, in: bytes, depth: depth))
    default: throw Malformed("a CBOR tag", at: start)
    }
  }

  private mutating func byte(in bytes: Span<UInt8>) throws(Malformed) -> UInt8 {
    guard offset < bytes.count else { throw Malformed("the bytes end within a CBOR item", at: offset) }
    defer { offset += 1 }
    return bytes[offset]
  }

  private func simple(_ initial: UInt8, at start: Int) throws(Malformed) -> CBOR {
    switch initial & 31 {
    case 20: return .boolean(false)
    case 21: return .boolean(true)
    case 22: return .null
    case 31: throw Malformed("an indefinite length", at: start)
    default: throw Malformed("a floating-point number or an unassigned simple value", at: start)
    }
  }

  /// The argument of an item's head (RFC 8949 section 3), refused when a shorter head would hold it.
  private mutating func argument(of initial: UInt8, in bytes: Span<UInt8>) throws(Malformed) -> UInt64 {
    let start = offset - 1
    let information = initial & 31
    guard information >= 24 else { return UInt64(information) }
    guard information <= 27 else {
      throw Malformed(information == 31 ? "an indefinite length" : "a reserved CBOR head", at: start)
    }
    let size = information - 24
    var value: UInt64 = 0
    for _ in 0..<(1 << size) { value = value << 8 | UInt64(try byte(in: bytes)) }
    let least: UInt64 = size == 0 ? 24 : 1 << (8 << (UInt64(size) - 1))
    guard value >= least else { throw Malformed("a length or number that is not in its shortest form", at: start) }
    return value
  }

  /// `argument` as a number of things of which each takes at least `size` of the bytes that are left.
  private func count(_ argument: UInt64, of size: UInt64, in bytes: Span<UInt8>) throws(Malformed) -> Int {
    guard argument <= UInt64(bytes.count - offset) / size else {
      throw Malformed("a length beyond the end of the bytes", at: offset)
    }
    return Int(argument)
  }

  private mutating func string(_ argument: UInt64, in bytes: Span<UInt8>) throws(Malformed) -> ByteRange {
    let range = ByteRange(start: offset, count: try count(argument, of: 1, in: bytes))
    offset = range.end
    return range
  }

  private mutating func text(_ argument: UInt64, in bytes: Span<UInt8>) throws(Malformed) -> ByteRange {
    let range = try string(argument, in: bytes)
    guard (try? UTF8Span(validating: bytes.bytes(at: range))) != nil else {
      throw Malformed("a text string that is not UTF-8", at: range.start)
    }
    return range
  }

  private mutating func array(_ argument: UInt64, in bytes: Span<UInt8>, depth: Int) throws(Malformed) -> [CBOR] {
    let count = try containerCount(argument, itemsEach: 1, in: bytes, depth: depth)
    var items: [CBOR] = []
    items.reserveCapacity(count)
    for _ in 0..<count { items.append(try item(in: bytes, depth: depth + 1)) }
    return items
  }

  private mutating func map(_ argument: UInt64, in bytes: Span<UInt8>, depth: Int) throws(Malformed) -> [CBOR.Member] {
    let count = try containerCount(argument, itemsEach: 2, in: bytes, depth: depth)
    var members: [CBOR.Member] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      let start = offset
      let key = try item(in: bytes, depth: depth + 1)
      switch key {
      case .unsigned, .negative, .text: break
      default: throw Malformed("a map key that is neither text nor a number", at: start)
      }
      let encoded = ByteRange(from: start, to: offset)
      for member in members where bytes.bytes(at: member.encodedKey).equals(bytes.bytes(at: encoded)) {
        throw Malformed("a repeated map key", at: start)
      }
      members.append(CBOR.Member(key: key, value: try item(in: bytes, depth: depth + 1), encodedKey: encoded))
    }
    return members
  }

  /// The number of elements or members, checked against every limit before anything is allocated for them.
  private func containerCount(
    _ argument: UInt64, itemsEach: Int, in bytes: Span<UInt8>, depth: Int
  ) throws(Malformed) -> Int {
    guard depth < CBOR.depthMax else { throw Malformed("nested deeper than \(CBOR.depthMax)", at: offset) }
    let count = try count(argument, of: UInt64(itemsEach), in: bytes)
    guard count <= itemsLeft / itemsEach else { throw Malformed("more than \(CBOR.itemCountMax) CBOR items", at: offset) }
    return count
  }
}
