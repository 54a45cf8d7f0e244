import CLinux
import Synchronization

/// One helper thread with a bounded queue, for what would hold a loop up: attestations, name look-ups.
public final class BackgroundThread: Sendable {
  private typealias Work = @Sendable () -> Void

  private let queue = Mutex<[Work]>([])
  private let waiting: Int32
  private let queueMax: Int

  /// Starts the thread. At most `queueMax` pieces of work wait.
  public init(name: String, queueMax: Int) {
    self.queueMax = queueMax
    waiting = eventfd(0, Int32(EFD_SEMAPHORE | EFD_CLOEXEC))
    precondition(waiting >= 0, "the kernel refused an eventfd")
    NativeThread.start(name: name) { self.serve() }
  }

  /// Runs `work` on the thread and gives its result; nil when the queue is full.
  public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result? {
    unsafe await withUnsafeContinuation { (continuation: UnsafeContinuation<Result?, Never>) in
      let accepted = start { unsafe continuation.resume(returning: work()) }
      if !accepted { unsafe continuation.resume(returning: nil) }
    }
  }

  /// Queues `work` for the thread and does not wait for it; false when the queue is full.
  func start(_ work: @escaping @Sendable () -> Void) -> Bool {
    let accepted = queue.withLock { queue in
      guard queue.count < queueMax else { return false }
      queue.append(work)
      return true
    }
    guard accepted else { return false }
    var one: UInt64 = 1
    _ = unsafe write(waiting, &one, 8)
    return true
  }

  private func serve() {
    while true {
      var count: UInt64 = 0
      guard unsafe read(waiting, &count, 8) == 8 else { continue }
      let work = queue.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      work?()
    }
  }
}
