import EventLoop
import Telemetry

/// How many requests one worker may have at an upstream at once, and who waits for a place. Confined to the worker.
final class RequestSlots {
  /// A request that waits. Its place is handed over to it, so that none that came later can take it.
  private final class Waiter {
    let signal: Signal
    var isServed = false

    init(loop: EventLoop) { signal = Signal(loop: loop) }
  }

  private let requestsMax: Int
  private let queueMax: Int
  private let queueTimeoutMilliseconds: Int
  private let loop: EventLoop
  private let metrics: UpstreamMetrics
  private var active = 0
  /// In the order in which they came.
  private var waiting: [Waiter] = []

  /// Nil when the upstream takes as many requests as come.
  init?(_ settings: UpstreamSettings, share: WorkerShare, loop: EventLoop, metrics: UpstreamMetrics) {
    guard let requestsMax = settings.requestsMax else { return nil }
    self.requestsMax = share.part(of: requestsMax)
    queueMax = share.part(of: settings.queueMax)
    queueTimeoutMilliseconds = settings.queueTimeoutMilliseconds
    self.loop = loop
    self.metrics = metrics
  }

  /// A place for one request, at once or after waiting for it in the queue.
  func take(for request: OutgoingRequest) async throws(UpstreamFailure) -> RequestSlot {
    if active < requestsMax {
      active += 1
      return RequestSlot(in: self)
    }
    guard waiting.count < queueMax else {
      metrics.queueFull.add()
      throw .overloaded
    }
    return try await waitInQueue(request)
  }

  private func waitInQueue(_ request: OutgoingRequest) async throws(UpstreamFailure) -> RequestSlot {
    let waiter = Waiter(loop: loop)
    waiting.append(waiter)
    metrics.queued.add(1)
    let deadline = min(request.deadline, loop.now.advanced(byMilliseconds: queueTimeoutMilliseconds))
    let outcome = await loop.wait(for: .signal(waiter.signal), or: .hangUp(request.client), until: deadline)
    metrics.queued.add(-1)
    guard waiter.isServed else {
      waiting.removeAll { $0 === waiter }
      guard outcome == .timedOut else { throw .abandoned }
      metrics.queueTimeouts.add()
      throw request.deadline <= loop.now ? .timedOut : .overloaded
    }
    // The place is this request's, whatever ended the wait: if it has no use for it, the value's end passes it on.
    let slot = RequestSlot(in: self)
    if outcome == .ready(1) { throw .abandoned }
    return slot
  }

  /// A place is free: it goes to the one who has waited longest.
  fileprivate func release() {
    guard !waiting.isEmpty else {
      active -= 1
      return
    }
    let next = waiting.removeFirst()
    next.isServed = true
    next.signal.notify()
  }
}

/// One request's place at an upstream, which ``UpstreamGroup/takeSlot(for:)`` gives. It is given back when the value ends, on whatever way.
public struct RequestSlot: ~Copyable {
  private let slots: RequestSlots?

  fileprivate init(in slots: RequestSlots) { self.slots = slots }

  private init() { slots = nil }

  /// At an upstream that takes as many requests as come.
  static var unlimited: RequestSlot { RequestSlot() }

  deinit { slots?.release() }
}
