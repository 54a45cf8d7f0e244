import CLinux
import Synchronization

/// How short of memory the process is.
public enum MemoryPressure: Int, Sendable, CaseIterable {
  /// There is enough.
  case none
  /// No connections are to be taken any more: what has begun needs the rest.
  case high
  /// Nothing new is to be begun.
  case critical

  /// Of a thousand parts: where ``high`` and ``critical`` begin, and below what they end.
  private static let bounds: [(MemoryPressure, begins: Int, ends: Int)] = [(.critical, 950, 900), (.high, 850, 800)]

  /// What it is once so many of a thousand parts are used. It ends lower than it began, so that it does not change with every request.
  func next(usedPermille: Int) -> MemoryPressure {
    for (level, begins, ends) in Self.bounds {
      if usedPermille >= begins || rawValue >= level.rawValue && usedPermille >= ends { return level }
    }
    return .none
  }
}

/// When a crowd of connections has come to rest, or left, and what it freed lies idle. While much happens, memory that was freed is
/// taken again, and to give it back would only cost.
struct QuietAfterRelease {
  /// So many releases make it worth while: some megabytes.
  static let releasesMin = 1_000
  /// It is quiet when no more than these come within a second; so it is reached once in ten seconds at most.
  static let quietReleasesMax = 100
  static let quietMilliseconds = 1_000

  private var quietSince = Instant(nanoseconds: 0)
  private var releasesThen = 0
  private var releasesAtLast = 0

  /// Looks at how many releases there were in all; true once each time that it has become quiet after many.
  mutating func isReached(releases: Int, at now: Instant) -> Bool {
    let isQuiet = releases - releasesThen <= Self.quietReleasesMax
    guard !isQuiet || quietSince.advanced(byMilliseconds: Self.quietMilliseconds) <= now else { return false }
    quietSince = now
    releasesThen = releases
    guard isQuiet, releases - releasesAtLast >= Self.releasesMin else { return false }
    releasesAtLast = releases
    return true
  }
}

/// Watches how much memory the process takes, on a thread of its own, so that work is refused while there still is memory to do it
/// with: Swift traps when it is given none.
public final class MemoryWatch: Sendable {
  static let periodMicroseconds: UInt32 = 250_000
  /// Once little is left, so that no burst uses it up between two looks.
  static let shortPeriodMicroseconds: UInt32 = 25_000
  static let shortPeriodPermille = 700
  /// Giving memory back holds the allocator's locks, so it is done less often than looked.
  static let looksPerGivingBack = 40

  /// How much is used, and of how much.
  public struct Use: Sendable {
    /// In bytes.
    public var used: Int
    /// In bytes.
    public var limit: Int

    var permille: Int { Int((Double(used) / Double(max(1, limit)) * 1_000).rounded(.down)) }
  }

  /// What is looked at, once it is watched.
  private struct Subject {
    var limit: Int
    var addressSpace: Int?
    var onChange: @Sendable (MemoryPressure, Use) -> Void
  }

  private let subject = Mutex<Subject?>(nil)
  private let level = Atomic<Int>(MemoryPressure.none.rawValue)
  private let releases = Atomic<Int>(0)

  /// How short of memory the process is, as of a quarter of a second ago at most.
  public var pressure: MemoryPressure { MemoryPressure(rawValue: level.load(ordering: .relaxed)) ?? .critical }

  /// A watch that sees no pressure until it is started.
  public init() {}

  /// One that sees this pressure, for tests.
  package init(pressure: MemoryPressure) { level.store(pressure.rawValue, ordering: .relaxed) }

  /// Notes that somebody gave up memory of his that he may not need soon, some kilobytes: a connection that rests or ends.
  public func noteRelease() { releases.add(1, ordering: .relaxed) }

  /// Begins to watch. `limit` is what the process may keep in memory, in bytes; its address space is held against RLIMIT_AS besides.
  /// Without one nothing is ever short, and memory is only given back. `onChange` is called on the watch's thread.
  public func start(limit: Int?, onChange: @escaping @Sendable (MemoryPressure, Use) -> Void) {
    if let limit {
      subject.withLock { $0 = Subject(limit: limit, addressSpace: MemoryLimit.ofAddressSpace(), onChange: onChange) }
    }
    NativeThread.start(name: "memory") {
      var looks = 0
      var quiet = QuietAfterRelease()
      while true {
        let use = self.look()
        looks = self.pressure == .none ? 0 : looks + 1
        // What was freed is still the process's until it is given back; the allocator keeps it unless it is told.
        let hasCalmed = quiet.isReached(releases: self.releases.load(ordering: .relaxed), at: .now)
        if hasCalmed || looks % Self.looksPerGivingBack == 1 { clinux_give_back_free_memory() }
        let isNear = use.map { $0.permille >= Self.shortPeriodPermille } ?? false
        usleep(isNear ? Self.shortPeriodMicroseconds : Self.periodMicroseconds)
      }
    }
  }

  /// Looks now, for whoever is about to take much: a burst can use up everything between two looks of the watch. About two microseconds.
  @discardableResult
  public func look() -> Use? {
    subject.withLock { subject in
      guard let subject, let use = Self.look(subject.limit, addressSpace: subject.addressSpace) else { return nil }
      judge(use, subject.onChange)
      return use
    }
  }

  private func judge(_ use: Use, _ onChange: (MemoryPressure, Use) -> Void) {
    let before = pressure
    let now = before.next(usedPermille: use.permille)
    guard now != before else { return }
    level.store(now.rawValue, ordering: .relaxed)
    onChange(now, use)
  }

  /// Whichever of the two is nearer to its limit: what is resident, or the address space.
  private static func look(_ limit: Int, addressSpace: Int?) -> Use? {
    // proc(5): size and resident set in pages.
    guard let words = MemoryLimit.text("/proc/self/statm", bytesMax: 255)?.split(separator: " "), words.count > 1, let size = Int(words[0]),
      let resident = Int(words[1])
    else { return nil }
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let memory = Use(used: resident * page, limit: limit)
    guard let addressSpace else { return memory }
    var space = Use(used: size * page, limit: addressSpace)
    // What the allocator has free inside is not to be asked of the kernel. To count it takes the allocator's locks, so only when near.
    if MemoryPressure.none.next(usedPermille: space.permille + 50) != .none { space.used -= clinux_free_heap_bytes() }
    return space.permille > memory.permille ? space : memory
  }
}
