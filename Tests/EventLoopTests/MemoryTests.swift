import Fixtures
import Synchronization
import Testing

@testable import EventLoop

@Suite struct MemoryTests {
  @Test(arguments: [
    (MemoryPressure.none, 0, MemoryPressure.none), (.none, 849, .none), (.none, 850, .high), (.none, 949, .high), (.none, 950, .critical),
    (.high, 850, .high), (.high, 800, .high), (.high, 799, .none), (.high, 949, .high), (.high, 950, .critical),
    (.critical, 949, .critical), (.critical, 900, .critical), (.critical, 899, .high), (.critical, 800, .high), (.critical, 799, .none),
    (.none, 5_000, .critical),
  ])
  func pressureEndsLowerThanItBegan(before: MemoryPressure, permille: Int, after: MemoryPressure) {
    #expect(before.next(usedPermille: permille) == after)
  }

  @Test func memoryIsGivenBackOnceACrowdHasComeToRestAndNotWhileItIsBusy() {
    var quiet = QuietAfterRelease()
    /// Looks at the moments in milliseconds, after so many releases.
    func looks(_ looks: [(UInt64, Int)]) -> [Bool] {
      looks.map { quiet.isReached(releases: $0.1, at: Instant(nanoseconds: $0.0 * 1_000_000)) }
    }
    // Busy, however much was released and however often it is looked.
    #expect(looks([(5_000, 500), (5_250, 1_000), (5_500, 2_000), (5_750, 4_000)]) == [false, false, false, false])
    // A second without much more, once.
    #expect(looks([(6_000, 4_050), (6_775, 4_100), (7_000, 4_100), (8_000, 4_100), (9_100, 4_100)]) == [false, true, false, false, false])
    // Near the limit it is looked more often: a thousand a second are as busy.
    #expect(
      (0..<400).map { quiet.isReached(releases: 5_000 + 25 * $0, at: Instant(nanoseconds: (10_000 + 25 * UInt64($0)) * 1_000_000)) }
        .allSatisfy { !$0 })
    // Too little to be worth while, until it has added up.
    #expect(looks([(30_000, 16_000), (31_000, 16_000)]) == [false, true])
    #expect(looks([(32_000, 16_090), (33_000, 16_180), (34_000, 16_270)]).allSatisfy { !$0 })
    #expect(looks([(35_000, 17_001), (36_000, 17_001)]) == [false, true])
  }

  @Test func aGroupsLimitAndThoseAboveItCount() {
    #expect(
      MemoryLimit.limitFiles(ofGroups: "0::/system.slice/attestgate.service\n") == [
        "/sys/fs/cgroup/system.slice/attestgate.service/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
        "/sys/fs/cgroup/memory.max",
      ])
    #expect(
      MemoryLimit.limitFiles(ofGroups: "5:cpu,memory:/a\n1:name=systemd:/b\nnonsense\n") == [
        "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
      ])
    #expect(MemoryLimit.limitFiles(ofGroups: "").isEmpty)
  }

  @Test func theSystemHasALimit() throws {
    let pages = try #require(MemoryLimit.ofSystem())
    #expect(pages > 64 << 20)
  }

  @Test func aWatchTellsWhatItSees() {
    let watch = MemoryWatch()
    #expect(watch.pressure == .none)
    let seen = Mutex<[MemoryPressure]>([])
    watch.start(limit: 1_000) { pressure, use in
      #expect(use.limit == 1_000 && use.used > 1_000)
      seen.withLock { $0.append(pressure) }
    }
    #expect(eventually { !seen.withLock { $0.isEmpty } })
    #expect(watch.pressure == .critical && seen.withLock { $0 } == [.critical])
  }
}
