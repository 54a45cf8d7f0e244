import Bytes
import Testing

@testable import Exchange

@Suite struct RequestIdentifierTests {
  @Test func noTwoOfOneWorkerOrOfTwoAreAlike() {
    var sources = [RequestIdentifierSource(), RequestIdentifierSource()]
    var seen = Set<[UInt64]>()
    for _ in 0..<20_000 {
      for index in sources.indices {
        let identifier = sources[index].next()
        seen.insert([identifier.high, identifier.low])
      }
    }
    #expect(seen.count == 40_000)
  }

  @Test(
    arguments: [
      (0, 0, "00000000000000000000000000000000"), (0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, "0123456789abcdeffedcba9876543210"),
      (.max, 1, "ffffffffffffffff0000000000000001"),
    ] as [(UInt64, UInt64, String)])
  func itIsWrittenAs32Digits(high: UInt64, low: UInt64, text: String) {
    #expect(RequestIdentifier(high: high, low: low).digits == Array(text.utf8))
  }
}
