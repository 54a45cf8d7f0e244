import Bytes
import CLinux
import Synchronization

/// One thread's epoll loop, which is also the executor of everything that runs on it.
///
/// It is both a serial executor (of the worker actor) and a task executor: a resumed continuation is enqueued on the generic
/// executor of its task, and only when that is this loop does it stay on this thread without a hop.
///
/// Everything but `enqueue`, `checkIsolated`, `start` and `stop` is confined to the loop's thread; that is why the type may call itself Sendable.
@safe
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
  /// Events taken from the kernel in one turn.
  static let eventsPerTurnMax = 256

  private let epoll: Int32
  private let wakeUp: Int32
  private let thread = Atomic<UInt>(0)
  private let stopRequested = Atomic<Bool>(false)
  /// Jobs from other threads; everything below is touched by the loop's thread alone.
  private let foreignJobs = Mutex<[UnownedJob]>([])

  private let guardedJobs = Guarded([UnownedJob]())
  private var jobs: [UnownedJob] {
    _read { yield guardedJobs.value }
    _modify { yield &guardedJobs.value }
  }
  private var running: [UnownedJob] = []
  private var sources: [WaitSource?] = []
  private var generations: [UInt32] = []
  private var freeSlots: [Int] = []
  private(set) var timers = TimerHeap()

  /// The monotonic clock, taken once a turn.
  public private(set) var now = Instant.now

  /// A loop that does not run yet. Traps when the kernel gives no epoll instance: a program that starts without one cannot serve.
  public init() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    wakeUp = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    precondition(epoll >= 0 && wakeUp >= 0, "the kernel refused an epoll instance or an eventfd")
    // The wake-up's data is no slot's: slots count from zero and never reach 2^32 − 1.
    let added = clinux_epoll_add(epoll, wakeUp, UInt32(CLINUX_EPOLLIN), .max)
    precondition(added == 0, "the kernel refused the wake-up")
  }

  deinit {
    close(epoll)
    close(wakeUp)
  }

  // MARK: Executor

  /// Queues a job: without a lock when called on the loop's own thread.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isCurrent {
      jobs.append(job)
    } else {
      foreignJobs.withLock { $0.append(job) }
      wake()
    }
  }

  /// Traps unless called on the loop's thread.
  public func checkIsolated() {
    precondition(isCurrent, "called outside the event loop's thread")
  }

  /// Whether the caller is on the loop's thread.
  public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

  // MARK: Running

  /// Starts the loop on a thread of its own.
  public func start(name: String) {
    NativeThread.start(name: name) { self.run() }
  }

  /// Makes the loop return after its turn. What still waits is abandoned: for the end of the process.
  public func stop() {
    stopRequested.store(true, ordering: .relaxed)
    wake()
  }

  private func wake() {
    var one: UInt64 = 1
    // A full counter means that a wake-up is under way already.
    _ = unsafe write(wakeUp, &one, 8)
  }

  /// Runs turns on the calling thread until ``stop()``.
  public func run() {
    thread.store(UInt(pthread_self()), ordering: .relaxed)
    let serial = unsafe asUnownedSerialExecutor()
    let task = unsafe asUnownedTaskExecutor()
    let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: Self.eventsPerTurnMax)
    defer { unsafe events.deallocate() }
    while !stopRequested.load(ordering: .relaxed) {
      unsafe runJobs(serial, task)
      let count = unsafe epoll_wait(epoll, events.baseAddress, Int32(Self.eventsPerTurnMax), waitMilliseconds())
      now = Instant.now
      for index in 0..<max(0, Int(count)) { unsafe dispatch(events[index]) }
      fireTimers()
    }
    thread.store(0, ordering: .relaxed)
  }

  /// Runs what is queued now; what these jobs queue themselves waits for the next turn, so that events are never starved.
  private func runJobs(_ serial: UnownedSerialExecutor, _ task: UnownedTaskExecutor) {
    swap(&jobs, &running)
    guard !running.isEmpty else { return }
    for job in running { unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task) }
    running.removeAll(keepingCapacity: true)
  }

  private func waitMilliseconds() -> Int32 {
    if !jobs.isEmpty { return 0 }
    guard let next = timers.earliest else { return -1 }
    guard next > now else { return 0 }
    // Rounded up: a loop that wakes before its timer is due would spin until it is.
    return Int32(clamping: (next.nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
  }

  private func dispatch(_ event: epoll_event) {
    let data = unsafe event.data.u64
    guard data != .max else {
      var counter: UInt64 = 0
      _ = unsafe read(wakeUp, &counter, 8)
      foreignJobs.withLock { foreign in
        jobs.append(contentsOf: foreign)
        foreign.removeAll(keepingCapacity: true)
      }
      return
    }
    let slot = Int(data & 0xFFFF_FFFF)
    // An event of a slot that was closed, and perhaps taken anew, in the same turn is stale.
    guard generations[slot] == UInt32(data >> 32), let source = sources[slot] else { return }
    unsafe source.take(events: event.events)
  }

  // MARK: Registration

  /// Puts a descriptor into the epoll set; false when the kernel refuses.
  func register(_ source: WaitSource, descriptor: Int32, events: UInt32) -> Bool {
    let slot: Int
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = sources.count
      sources.append(nil)
      generations.append(0)
    }
    sources[slot] = source
    source.slot = slot
    if clinux_epoll_add(epoll, descriptor, events, UInt64(generations[slot]) << 32 | UInt64(slot)) == 0 { return true }
    unregister(source, descriptor: nil)
    return false
  }

  /// Frees a source's slot. Closing a descriptor takes it out of the set by itself; a shared one must be named.
  func unregister(_ source: WaitSource, descriptor: Int32?) {
    guard source.slot >= 0 else { return }
    if let descriptor { _ = clinux_epoll_remove(epoll, descriptor) }
    sources[source.slot] = nil
    generations[source.slot] &+= 1
    freeSlots.append(source.slot)
    source.slot = -1
  }

  // MARK: Timers

  func schedule(_ source: WaitSource, at deadline: Instant) {
    source.deadline = deadline
    // Lazy: an entry that fires too early is put back then. A keep-alive connection moves its deadline with every request and
    // touches the heap about once in the length of its shortest time-out.
    if deadline != .never && deadline < source.scheduledAt {
      source.scheduledAt = deadline
      timers.insert(source, at: deadline)
    }
  }

  func forgetTimer(of source: WaitSource) {
    if source.scheduledAt != .never {
      source.scheduledAt = .never
      timers.noteAbandoned()
    }
  }

  private func fireTimers() {
    while let source = timers.popDue(now) {
      source.scheduledAt = .never
      guard unsafe source.continuation != nil || source.observer != nil else { continue }
      guard source.deadline <= now else {
        schedule(source, at: source.deadline)
        continue
      }
      source.tellObserver()
      guard let continuation = unsafe source.continuation else { continue }
      unsafe source.continuation = nil
      unsafe continuation.resume(returning: WaitSource.timedOut)
    }
  }

  /// Number of registered descriptors, for the tests and for metrics.
  public var registrationCount: Int { sources.count - freeSlots.count }
}
