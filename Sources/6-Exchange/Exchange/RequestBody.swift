import Bytes
import EventLoop
import HTTP

/// Reading the body of the request being served.
extension DownstreamConnection {
  enum BodyResult {
    /// Every byte of it was read.
    case ended
    /// The taker wants no more now.
    case paused
    /// What came is no body (RFC 9112 section 7.1).
    case malformed
    /// Nothing came for too long.
    case timedOut
    /// The client is gone.
    case closed
  }

  /// Hands on what has come of the body, until `take` answers false. Nil when more must be read.
  func takeBody(_ take: (Span<UInt8>) -> Bool) -> BodyResult? {
    var decoder = body
    var isPaused = false
    var taken = 0
    var isMalformed = false
    let consumed = input.withReadable { bytes in
      var consumed = 0
      while !isPaused {
        let rest = bytes.extracting(consumed..<bytes.count)
        switch decoder.next(in: rest) {
        case .data(let range, let used):
          isPaused = !take(rest.bytes(at: range))
          taken += range.count
          consumed += used
        case .needMore(let used): return consumed + used
        case .end(let used): return consumed + used
        case .malformed:
          isMalformed = true
          return consumed
        }
      }
      return consumed
    }
    body = decoder
    bodyBytesTaken += taken
    input.consume(consumed)
    if isMalformed { return .malformed }
    if decoder.hasEnded { return .ended }
    return isPaused ? .paused : nil
  }

  /// Reads the body to its end, or until `take` answers false.
  func readBody(until limit: Instant = .never, _ take: (Span<UInt8>) -> Bool) async -> BodyResult {
    while true {
      if let result = takeBody(take) { return result }
      switch socket.read(into: &input) {
      case .bytes: continue
      case .end, .failed: return .closed
      case .wouldBlock:
        let start = loop.now
        let hasCome = await loop.wait(for: .readable(socket), until: min(limit, bodyDeadline))
        noteBodyWait(since: start)
        guard hasCome else {
          countBodyTimeout(limit)
          return .timedOut
        }
      }
    }
  }

  /// When the client must have sent more: within `body_timeout` of now, and before its body falls behind `body_min_rate`.
  ///
  /// Only waiting for the client counts, not what the upstream takes its time for; and what came faster is credited for later.
  var bodyDeadline: Instant { min(loop.now.advanced(byMilliseconds: listener.settings.bodyTimeoutMilliseconds), bodyRateDeadline) }

  private var bodyRateDeadline: Instant {
    let settings = listener.settings
    let rate = MinimumRate(bytesPerSecond: settings.bodyBytesPerSecondMin, graceMilliseconds: ListenerSettings.bodyGraceMilliseconds)
    return rate.patience(after: bodyBytesTaken, waited: bodyWaitNanoseconds).map { loop.now.advanced(byNanoseconds: $0) } ?? .never
  }

  /// To be called after each wait for more of the body.
  func noteBodyWait(since start: Instant) { bodyWaitNanoseconds += loop.now.nanoseconds - start.nanoseconds }

  /// Counts which of the times ran out, `limit` being the route's.
  func countBodyTimeout(_ limit: Instant) {
    metrics.count(limit <= loop.now ? .request : bodyRateDeadline <= loop.now ? .bodyRate : .body)
  }

  /// Whether the rest of the body is here already, and small: then it is dropped, and the connection can go on after a refusal.
  func dropBodyThatIsHere() -> Bool {
    if body.hasEnded { return true }
    return takeBody { _ in true } == .ended
  }
}
