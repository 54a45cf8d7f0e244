import Foundation
import Telemetry
import Testing

@Suite struct TelemetryTests {
  @Test func oneFamilyAndOneSetOfLabelsIsOneSeries() {
    let registry = MetricRegistry()
    let family = MetricFamily("attestgate_requests_total", .counter, "Requests.")
    registry.counter(family, [MetricLabel("code", "200")]).add()
    registry.counter(family, [MetricLabel("code", "200")]).add(2)
    registry.counter(family, [MetricLabel("code", "404")]).add()
    #expect(registry.counter(family, [MetricLabel("code", "200")]).value == 3)
    #expect(registry.allSeries().count == 2)
  }

  @Test(arguments: [(0, 0), (250_000, 0), (250_001, 1), (10_000_000_000, 14), (10_000_000_001, 15), (.max, 15)] as [(UInt64, Int)])
  func aDurationCountsInTheFirstBucketThatHoldsIt(nanoseconds: UInt64, bucket: Int) {
    let histogram = Histogram()
    histogram.observe(nanoseconds: nanoseconds)
    #expect(histogram.snapshot().buckets.firstIndex(of: 1) == bucket)
    #expect(histogram.snapshot().sumNanoseconds == nanoseconds)
  }

  @Test func aReopenedLogGoesOnInAFreshFile() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("attestgate-log-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("access.log").path
    let log = try LogWriter(.file(file))
    log.write(Array("first\n".utf8))
    log.finish()
    try FileManager.default.moveItem(atPath: file, toPath: file + ".1")
    log.reopen()
    log.write(Array("second\n".utf8))
    log.finish()
    #expect(try String(contentsOfFile: file + ".1", encoding: .utf8) == "first\n")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "second\n")
  }

  @Test func aLogThatCannotBeOpenedSaysWhy() {
    #expect(throws: LogFailure.self) { try LogWriter(.file("/nonexistent/folder/access.log")) }
  }

  @Test func linesThatFindTheQueueFullAreCounted() throws {
    let lost = Counter()
    let log = try LogWriter(.standardError, lost: lost)
    let line = [UInt8](repeating: UInt8(ascii: "a"), count: 3 << 20) + [UInt8(ascii: "\n")]
    log.write(line + line + line)
    #expect(log.lostCount == 3)
    #expect(lost.value == 3)
  }

  @Test func linesThatTheKernelDoesNotTakeAreCounted() throws {
    let log = try LogWriter(.file("/dev/full"))
    log.write(Array("first\nsecond\n".utf8))
    log.finish()
    #expect(log.lostCount == 2)
  }
}
