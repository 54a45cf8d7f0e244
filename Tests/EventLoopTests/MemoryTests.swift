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
    func looks(_ releases: [Int]) -> [Bool] { releases.map { quiet.isReached(releases: $0) } }
    // Busy, however much was released.
    #expect(looks([500, 1_000, 2_000, 4_000]) == [false, false, false, false])
    // A second without much more.
    #expect(looks([4_010, 4_020, 4_020, 4_020, 4_020]) == [false, false, false, true, false])
    // Too little to be worth while.
    #expect(looks([4_900, 4_900, 4_900, 4_900, 4_900, 4_900]).allSatisfy { !$0 })
    // Until it has added up.
    #expect(looks([5_100, 5_100, 5_100, 5_100, 5_100]) == [false, false, false, false, true])
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
