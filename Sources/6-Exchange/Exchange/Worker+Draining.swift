public import EventLoop
import Store
import Upstream

/// The end of a worker.
extension Worker {
  static let cutOffMilliseconds = 100
  /// How often idle connections are looked for.
  static let closingMilliseconds = 10

  /// Stops accepting. From now on every answer closes its connection.
  public func stopAccepting() {
    guard let serving, !serving.isDraining else { return }
    serving.isDraining = true
    for intake in intakes { takeLast(of: intake, serving.context) }
    intakes = []
  }

  /// Waits until every exchange has ended, or the deadline; what is left then is closed. Log lines are handed over.
  ///
  /// Idle connections are closed one after the other, all within the first half of the time: their clients come back at once, and
  /// not all at the same moment to those that take over.
  public func drain(until deadline: Instant) async {
    let (count, start) = (connections.count, loop.now)
    let spread = Double(max(deadline, start).nanoseconds - start.nanoseconds) / 2
    var closedCount = 0
    while !connections.isEmpty && loop.now < deadline {
      let due = Double(count) * min(1, Double(loop.now.nanoseconds - start.nanoseconds) / spread)
      closedCount += closeIdle(atMost: max(1, Int(due) - closedCount))
      await loop.sleep(until: loop.now.advanced(byMilliseconds: Self.closingMilliseconds))
    }
    for served in connections.values { served.cutOff() }
    // Those that were cut off have their log lines too; only who waits for something else than its client does not notice at once.
    let lastMoment = loop.now.advanced(byMilliseconds: Self.cutOffMilliseconds)
    while !connections.isEmpty && loop.now < lastMoment { await loop.sleep(until: loop.now.advanced(byMilliseconds: 1)) }
    isStopped = true
    endSpareLanes()
    for upstream in serving?.context.upstreams ?? [] { upstream.closeIdle() }
    serving?.context.accessLog.flush()
    // That it goes now is no news to the operator.
    store?.onHealthChange = nil
    store?.stop()
    for former in formerStores { former.store.stop() }
  }

  private func closeIdle(atMost count: Int) -> Int {
    let idle = Array(connections.values.lazy.filter(\.mayBeClosed).prefix(count))
    for served in idle { served.socket.close() }
    return idle.count
  }
}
