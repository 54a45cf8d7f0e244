import AppAttest
import Bytes
import Testing

@Suite struct CBORTests {
  static func decode(_ bytes: [UInt8]) -> Result<CBOR, Malformed> {
    do throws(Malformed) { return .success(try CBOR.decode(bytes.span)) } catch { return .failure(error) }
  }

  @Test(
    arguments: [
      ([0x00], CBOR.unsigned(0)), ([0x17], .unsigned(23)), ([0x18, 0x18], .unsigned(24)), ([0x18, 0xFF], .unsigned(255)),
      ([0x19, 0x01, 0x00], .unsigned(256)), ([0x19, 0xFF, 0xFF], .unsigned(65_535)), ([0x1A, 0, 1, 0, 0], .unsigned(65_536)),
      ([0x1A, 0xFF, 0xFF, 0xFF, 0xFF], .unsigned(0xFFFF_FFFF)), ([0x1B, 0, 0, 0, 1, 0, 0, 0, 0], .unsigned(0x1_0000_0000)),
      ([0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .unsigned(.max)),
      ([0x20], .negative(0)), ([0x26], .negative(6)), ([0x3B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .negative(.max)),
      ([0x40], .bytes(ByteRange(start: 1, count: 0))), ([0x42, 0xAB, 0xCD], .bytes(ByteRange(start: 1, count: 2))),
      ([0x60], .text(ByteRange(start: 1, count: 0))), ([0x62, 0xC3, 0xA9], .text(ByteRange(start: 1, count: 2))),
      ([0x80], .array([])), ([0x82, 0x01, 0x81, 0x02], .array([.unsigned(1), .array([.unsigned(2)])])), ([0xA0], .map([])),
      ([0xF4], .boolean(false)), ([0xF5], .boolean(true)), ([0xF6], .null),
    ] as [([UInt8], CBOR)])
  func itemsInTheirShortestFormAreDecoded(bytes: [UInt8], item: CBOR) {
    #expect(Self.decode(bytes) == .success(item))
  }

  @Test func membersKeepTheirOrderAndAreFoundByName() {
    let bytes: [UInt8] = [0xA3, 0x61, 0x62, 0x01, 0x61, 0x61, 0x02, 0x03, 0x04]
    guard case .success(.map(let members)) = Self.decode(bytes) else { return #expect(Bool(false)) }
    #expect(members.map(\.value) == [.unsigned(1), .unsigned(2), .unsigned(4)])
    let named = members.map { $0.isNamed("a", in: bytes.span) }
    #expect(named == [false, true, false])
  }

  @Test(
    arguments: [
      ([], "the bytes end within a CBOR item", 0),
      ([0x18], "the bytes end within a CBOR item", 1), ([0x19, 0x01], "the bytes end within a CBOR item", 2),
      ([0x1B, 1, 2, 3, 4, 5, 6, 7], "the bytes end within a CBOR item", 8),
      ([0x82, 0x01], "a length beyond the end of the bytes", 1), ([0xA1, 0x01], "a length beyond the end of the bytes", 1),
      ([0x41], "a length beyond the end of the bytes", 1), ([0x63, 0x61, 0x62], "a length beyond the end of the bytes", 1),
      ([0x00, 0x00], "bytes follow the CBOR item", 1), ([0xA0, 0xA0], "bytes follow the CBOR item", 1),
      ([0x18, 0x17], "a length or number that is not in its shortest form", 0),
      ([0x19, 0x00, 0xFF], "a length or number that is not in its shortest form", 0),
      ([0x1A, 0, 0, 0xFF, 0xFF], "a length or number that is not in its shortest form", 0),
      ([0x1B, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], "a length or number that is not in its shortest form", 0),
      ([0x58, 0x01, 0xAA], "a length or number that is not in its shortest form", 0),
      ([0x78, 0x01, 0x61], "a length or number that is not in its shortest form", 0),
      ([0x98, 0x01, 0x00], "a length or number that is not in its shortest form", 0),
      ([0xB8, 0x01, 0x00, 0x00], "a length or number that is not in its shortest form", 0),
      ([0x5F, 0x41, 0xAA, 0xFF], "an indefinite length", 0), ([0x7F, 0x61, 0x61, 0xFF], "an indefinite length", 0),
      ([0x9F, 0x00, 0xFF], "an indefinite length", 0), ([0xBF, 0x00, 0x00, 0xFF], "an indefinite length", 0),
      ([0xFF], "an indefinite length", 0),
      ([0x1C], "a reserved CBOR head", 0), ([0x5D], "a reserved CBOR head", 0), ([0x9E], "a reserved CBOR head", 0),
      ([0xC0, 0x00], "a CBOR tag", 0), ([0xD8, 0x18, 0x41, 0x00], "a CBOR tag", 0),
      ([0xF9, 0x3C, 0x00], "a floating-point number or an unassigned simple value", 0),
      ([0xFA, 0, 0, 0, 0], "a floating-point number or an unassigned simple value", 0),
      ([0xF7], "a floating-point number or an unassigned simple value", 0),
      ([0xF8, 0x20], "a floating-point number or an unassigned simple value", 0),
      ([0xE0], "a floating-point number or an unassigned simple value", 0),
      ([0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x02], "a repeated map key", 4), ([0xA2, 0x01, 0x01, 0x01, 0x02], "a repeated map key", 3),
      ([0x81, 0xA2, 0x20, 0x01, 0x20, 0x02], "a repeated map key", 4),
      ([0xA1, 0x41, 0x61, 0x01], "a map key that is neither text nor a number", 1),
      ([0xA1, 0x80, 0x01], "a map key that is neither text nor a number", 1),
      ([0xA1, 0xF6, 0x01], "a map key that is neither text nor a number", 1),
      ([0x61, 0xFF], "a text string that is not UTF-8", 1), ([0x62, 0xC0, 0x80], "a text string that is not UTF-8", 1),
      ([0x63, 0xED, 0xA0, 0x80], "a text string that is not UTF-8", 1),
    ] as [([UInt8], String, Int)])
  func anythingElseIsRefusedWithItsPlace(bytes: [UInt8], reason: String, offset: Int) {
    #expect(Self.decode(bytes) == .failure(Malformed(reason, at: offset)))
  }

  /// Heads that promise up to 2^64 − 1 bytes or items: nothing may be allocated for them, nor may arithmetic overflow.
  @Test(arguments: [0x5A, 0x7A, 0x9A, 0xBA] as [UInt8])
  func lengthsFarBeyondTheEndAreRefused(head: UInt8) {
    for promise in [
      [head, 0xFF, 0xFF, 0xFF, 0xFF], [head | 1] + [UInt8](repeating: 0xFF, count: 8),
      [head | 1, 0x7F] + [UInt8](repeating: 0xFF, count: 7),
    ] {
      #expect(Self.decode(promise + [0, 0, 0]) == .failure(Malformed("a length beyond the end of the bytes", at: promise.count)))
    }
  }

  @Test func nestingIsBounded() {
    let deepest = [UInt8](repeating: 0x81, count: CBOR.depthMax) + [0x00]
    #expect((try? Self.decode(deepest).get()) != nil)
    let deeper = [UInt8](repeating: 0x81, count: CBOR.depthMax + 1) + [0x00]
    #expect(Self.decode(deeper) == .failure(Malformed("nested deeper than 8", at: 9)))
    let maps = (0..<20_000).map { $0 % 2 == 0 ? 0xA1 : 0x00 as UInt8 } + [0x00]
    #expect(Self.decode(maps) == .failure(Malformed("nested deeper than 8", at: 17)))
  }

  @Test func theNumberOfItemsIsBounded() {
    func array(_ count: Int) -> [UInt8] { Item.array([Item](repeating: .number(0), count: count)).encoded }
    #expect((try? Self.decode(array(CBOR.itemCountMax - 1)).get()) != nil)
    #expect((try? Self.decode(array(CBOR.itemCountMax)).get()) == nil)
    let nested = Item.array([Item](repeating: .array([Item](repeating: .number(0), count: 20)), count: 20)).encoded
    #expect((try? Self.decode(nested).get()) == nil)
  }

  @Test func everyShortInputEndsInAValueOrARefusal() {
    for first in 0...255 as ClosedRange<UInt8> {
      _ = Self.decode([first])
      for second in 0...255 as ClosedRange<UInt8> {
        _ = Self.decode([first, second])
        for third in [0x00, 0x5B, 0xFF] as [UInt8] {
          _ = Self.decode([first, second, third, third])
        }
      }
    }
  }
}
