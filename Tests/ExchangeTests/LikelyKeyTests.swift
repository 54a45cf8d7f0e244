import AppAttest
import Cryptography
import Testing

@testable import Exchange

@Suite struct LikelyKeyTests {
  private static func key(_ number: UInt8) -> KeyIdentifier { KeyIdentifier(SHA256.digest([number].span)) }

  /// The keys of the requests on a connection, and the one that is tried for the next.
  @Test(
    arguments: [
      ([], nil), ([1], nil), ([1, 1], 1), ([1, 1, 1], 1), ([1, 2], nil), ([1, 1, 2], nil), ([1, 1, 2, 2], 2), ([1, 2, 1, 2], nil),
    ] as [([UInt8], UInt8?)])
  func aKeyIsTriedFirstOnceItSignedTwiceInARow(keys: [UInt8], expected: UInt8?) {
    var likely = LikelyKey()
    for key in keys { likely.note(verified: Self.key(key)) }
    #expect(likely.value == expected.map(Self.key))
  }
}
