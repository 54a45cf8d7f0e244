import EventLoop

/// A command that was put on its way and the reply it waits for. Replies come in the order of the commands.
final class PendingReply {
  /// How it ended.
  enum Outcome {
    case reply(RedisReply)
    case lost(StoreFailure)
  }

  /// Where the command begins in the stream of everything that the connection sends.
  let start: UInt64
  /// When the connection is given up for it.
  let deadline: Instant
  private let settled: Signal
  private(set) var outcome: Outcome?

  init(start: UInt64, deadline: Instant, loop: EventLoop) {
    self.start = start
    self.deadline = deadline
    settled = Signal(loop: loop)
  }

  /// Ends the wait, once.
  func settle(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    self.outcome = outcome
    settled.notify()
  }

  /// The reply, or why there is none. Whoever gives up at `deadline` leaves the reply to be read and dropped.
  func reply(on loop: EventLoop, until deadline: Instant) async throws(StoreFailure) -> RedisReply {
    if outcome == nil { _ = await loop.wait(for: .signal(settled), until: deadline) }
    switch outcome {
    case .reply(let reply): return reply
    case .lost(let failure): throw failure
    case nil: throw StoreFailure(outcomeUnknown: true, reason: "Redis did not answer in the time that the caller had")
    }
  }
}
