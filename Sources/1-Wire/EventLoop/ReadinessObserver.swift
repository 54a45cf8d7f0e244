/// Somebody who is told of a source's readiness without a task that waits for it. Confined to the source's loop.
///
/// A task that waits keeps the stack of its deepest call, tens of kilobytes; what may wait for minutes does without.
open class ReadinessObserver {
  /// An observer.
  public init() {}

  /// Called once, on the loop's thread between two jobs: the source can be read, was closed, or the deadline has passed.
  open func becameReady() {}
}

extension EventLoop {
  /// Has `observer` told once when `source` can be read, or the deadline passes. The source keeps it until then; no task may wait for
  /// the source meanwhile.
  public func tell(_ observer: ReadinessObserver, of source: WaitSource, until deadline: Instant) {
    precondition(source.observer == nil, "two observers of one source")
    source.observer = observer
    if source.isReadable { return source.tellObserver() }
    schedule(source, at: deadline)
  }
}
