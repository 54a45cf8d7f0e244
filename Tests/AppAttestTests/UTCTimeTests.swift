import AppAttest
import Foundation
import Testing

@Suite struct UTCTimeTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (1_790_000_000, "2026-09-21T14:13:20Z"),
    (-1, "1969-12-31T23:59:59Z"),
    (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"), (-2_208_988_800, "1900-01-01T00:00:00Z"),
  ])
  func momentsAreWrittenAndRead(unixSeconds: Int, text: String) {
    #expect(UTCTime.text(unixSeconds) == text)
    #expect(UTCTime.unixSeconds(text) == unixSeconds)
  }

  @Test func everyDayComesBack() {
    for day in stride(from: -30_000, through: 60_000, by: 1) {
      #expect(UTCTime.unixSeconds(UTCTime.text(day * 86_400 + 1)) == day * 86_400 + 1)
    }
  }

  @Test func fractionsAreDroppedAndALoneDateIsItsMidnight() {
    #expect(UTCTime.unixSeconds("2026-10-09T07:25:21.624Z") == UTCTime.unixSeconds("2026-10-09T07:25:21Z"))
    #expect(UTCTime.unixSeconds("2026-10-09") == UTCTime.unixSeconds("2026-10-09T00:00:00Z"))
  }

  @Test(arguments: [
    "", "now", "2026", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-04-31", "2026-01-00",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00+01:00",
    "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.5", "2026-01-01T00:00:00.xZ", "+026-01-01T00:00:00Z", "２026-01-01",
  ])
  func anythingElseIsNoMoment(text: String) {
    #expect(UTCTime.unixSeconds(text) == nil)
  }
}
