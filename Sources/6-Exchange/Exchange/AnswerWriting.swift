import Bytes
import EventLoop
import Upstream

/// How a client takes an answer, from the first moment on at which it is waited for: a request that nobody waits for costs nothing.
struct WritePace {
  /// Which of the connection's requests is answered.
  var request = 0
  /// What the client had taken on the connection before.
  var bytesBefore = 0
  /// Time in which bytes waited for the client and the kernel took no more: neither a slow upstream nor an event stream in which
  /// nothing happens is the client's fault.
  var waitedNanoseconds: UInt64 = 0
  /// Which time ran out, if that ended the connection.
  var ranOut: LimitMetrics.Timeout?
}

/// Writing to the client.
extension DownstreamConnection {
  /// In a wait it is looked so often in each `write_timeout` whether the client takes anything.
  private static let looksPerTimeout = 4

  /// Counts what was written past ``flush(until:)``.
  func note(bytesWritten count: Int) { bytesWritten += count }

  /// Writes everything that waits; false when the client is gone, takes it too slowly, or `limit` passes first.
  func flush(until limit: Instant = .never) async -> Bool {
    while true {
      let before = output.count
      let outcome = socket.write(from: &output)
      bytesWritten += before - output.count
      if outcome == .complete { return true }
      guard await waitToWrite(after: outcome, until: limit) else { return false }
    }
  }

  /// Writes everything that waits, and behind it all that has come from an upstream, without copying that.
  func flush(then upstream: UpstreamConnection, until limit: Instant = .never) async -> Bool {
    while true {
      let before = output.count + upstream.input.count
      let outcome = socket.write(from: &output, then: &upstream.input)
      bytesWritten += before - output.count - upstream.input.count
      if outcome == .complete { return true }
      guard await waitToWrite(after: outcome, until: limit) else { return false }
    }
  }

  /// Waits until the kernel takes more. It asks for more only once a good part of what it holds is gone, which may take a slow client
  /// long; so what the client itself has taken decides whether it is waited for.
  private func waitToWrite(after outcome: WriteOutcome, until limit: Instant) async -> Bool {
    if case .failed = outcome { return false }
    if pace.request != requestCount { pace = WritePace(request: requestCount, bytesBefore: bytesConfirmed) }
    let timeout = listener.settings.writeTimeoutMilliseconds
    var taken = bytesTaken
    var lastTakenAt = loop.now
    while true {
      let start = loop.now
      let look = start.advanced(byMilliseconds: max(1, timeout / Self.looksPerTimeout))
      let patience = min(lastTakenAt.advanced(byMilliseconds: timeout), rateDeadline(taken))
      let isReady = await loop.wait(for: .writable(socket), until: min(look, patience, limit))
      pace.waitedNanoseconds += loop.now.nanoseconds - start.nanoseconds
      if isReady { return true }
      if limit <= loop.now { return false }
      let before = taken
      taken = bytesTaken
      if taken > before { lastTakenAt = loop.now }
      if rateDeadline(taken) <= loop.now { return giveUp(.writeRate) }
      if lastTakenAt.advanced(byMilliseconds: timeout) <= loop.now { return giveUp(.write) }
    }
  }

  /// Bytes that the client's side has confirmed, on the whole connection.
  private var bytesConfirmed: Int { max(0, bytesWritten - socket.unconfirmedByteCount) }

  private var bytesTaken: Int { max(0, bytesConfirmed - pace.bytesBefore) }

  /// When an answer of which the client has taken so much falls behind `write_min_rate`. The client may take nothing for
  /// `write_timeout`; so that is the grace.
  private func rateDeadline(_ taken: Int) -> Instant {
    let settings = listener.settings
    let rate = MinimumRate(bytesPerSecond: settings.writeBytesPerSecondMin, graceMilliseconds: settings.writeTimeoutMilliseconds)
    return rate.patience(after: taken, waited: pace.waitedNanoseconds).map { loop.now.advanced(byNanoseconds: $0) } ?? .never
  }

  private func giveUp(_ timeout: LimitMetrics.Timeout) -> Bool {
    metrics.count(timeout)
    pace.ranOut = timeout
    // What the kernel holds for a client that does not take it would else stay there for minutes more.
    socket.resetOnClose()
    return false
  }
}
