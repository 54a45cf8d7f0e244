import Testing

@testable import Exchange

@Suite struct MinimumRateTests {
  static let rate = MinimumRate(bytesPerSecond: 1_000, graceMilliseconds: 5_000)

  @Test func thePeerHasItsGraceAndWhatItEarned() {
    #expect(Self.rate.patience(after: 0, waited: 0) == 5_000_000_000)
    #expect(Self.rate.patience(after: 0, waited: 4_000_000_000) == 1_000_000_000)
    #expect(Self.rate.patience(after: 2_500, waited: 4_000_000_000) == 3_500_000_000)
  }

  @Test func whoFellBehindIsNotWaitedFor() {
    #expect(Self.rate.patience(after: 0, waited: 5_000_000_000) == 0)
    #expect(Self.rate.patience(after: 1_000, waited: 6_000_000_001) == 0)
  }

  @Test func withoutARateThereIsNoEnd() {
    #expect(MinimumRate(bytesPerSecond: 0, graceMilliseconds: 5_000).patience(after: 0, waited: .max) == nil)
  }

  @Test func noCountOfBytesOverflows() {
    for rate in [1, 1_000, 1 << 30] {
      for bytes in [0, 1 << 40, 19 << 40, 1 << 60, Int.max] {
        let patience = MinimumRate(bytesPerSecond: rate, graceMilliseconds: 3_600_000).patience(after: bytes, waited: 1)
        #expect(patience.map { $0 >= 3_599_000_000_000 } != false, "\(rate) \(bytes)")
      }
    }
    #expect(Self.rate.patience(after: .max, waited: 0) == nil)
  }
}
