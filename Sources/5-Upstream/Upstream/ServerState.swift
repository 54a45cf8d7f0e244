import EventLoop
import Synchronization
import Telemetry

/// One server of an upstream at one address, as all workers of the process know it: whether it gets requests, and why not.
///
///     up ── a connection fails ──> down ── the pause is over, one request tries ──> half_open ── it fails ──> down
///     up <──────────── a connection is made, or a health check passed ──────────── down, half_open
///     any ── `unhealthy` health checks fail in a row ──> unhealthy ── `healthy` of them pass in a row ──> the state that it had
final class ServerState: Sendable {
  /// What an operator sees of it.
  enum Condition: String, CaseIterable {
    /// It gets its share of the requests.
    case up
    /// It could not be reached, and is passed over for a while.
    case down
    /// One request is trying whether it can be reached again.
    case halfOpen = "half_open"
    /// It failed its health checks.
    case unhealthy
  }

  private struct Facts {
    /// Never `.unhealthy`.
    var reach = Condition.up
    /// Until when it is passed over, as far as that depends on `reach`.
    var pausedUntil = Instant(nanoseconds: 0)
    var isHealthy = true
    var wasChecked = false
    /// Checks in a row whose result was another than `isHealthy` says.
    var contraryChecks = 0
    var isRetired = false

    var condition: Condition { isHealthy ? reach : .unhealthy }
  }

  let address: SocketAddress
  /// For logs and metrics: host and port as configured, or `unix:/path`; behind a name's, the address.
  let name: String
  /// What its `Host` field says where the upstream is to see its own name.
  let hostField: String
  /// Whom its certificate must be for; nil for a server without TLS.
  let secureName: String?
  /// The name that led here; nil for an address that was configured.
  let origin: ServerName?

  private let metrics: ServerMetrics
  private let pauseMilliseconds: Int
  private let facts = Mutex(Facts())
  /// Until when it gets no requests, in nanoseconds; 0 when it is up. All that is read for each request.
  private let blockedUntil = Atomic<UInt64>(0)

  /// A server that is up as far as anybody knows. Of one that is retired from the first nothing is told.
  init(
    _ server: UpstreamSettings.Server, at address: SocketAddress, origin: ServerName? = nil, pauseMilliseconds: Int,
    metrics: ServerMetrics, isRetired: Bool = false
  ) {
    self.address = address
    self.origin = origin
    self.pauseMilliseconds = pauseMilliseconds
    self.metrics = metrics
    name = origin == nil ? server.name : "\(server.name)/\(address.host)"
    hostField = server.authority
    secureName = server.usesTLS ? server.host : nil
    facts.withLock { $0.isRetired = isRetired }
    if !isRetired { metrics.show(.up, of: name) }
  }

  /// Whether a request may be sent to it: it is up, or the pause after a failure is over and nobody is trying it.
  func isAvailable(at now: Instant) -> Bool { blockedUntil.load(ordering: .relaxed) <= now.nanoseconds }

  /// The state now.
  var condition: Condition { facts.withLock { $0.condition } }

  /// Whether its address is gone.
  var isRetired: Bool { facts.withLock { $0.isRetired } }

  // MARK: What requests find out

  /// Whether a connection may be made by one who found it available: after a failure, the first who asks tries it, until `deadline` for
  /// all, and the others pass it over meanwhile.
  func claimTrial(now: Instant, until deadline: Instant) -> Bool {
    if blockedUntil.load(ordering: .relaxed) == 0 { return true }
    return change { facts in
      guard facts.isHealthy, facts.reach != .up else { return facts.isHealthy }
      guard facts.pausedUntil <= now else { return false }
      facts.reach = .halfOpen
      facts.pausedUntil = deadline
      return true
    }
  }

  /// A connection was made.
  func noteReached() {
    if blockedUntil.load(ordering: .relaxed) == 0 { return }
    change { facts in
      guard facts.reach != .up else { return }
      facts.reach = .up
      if facts.isHealthy { tell(facts, .notice, "is up again") }
    }
  }

  /// No connection could be made.
  func noteUnreachable(_ reason: String, now: Instant) {
    change { facts in
      if facts.condition == .up {
        metrics.count(.connect)
        tell(facts, .warning, "is down: \(reason); it is passed over for \(pauseMilliseconds / 1_000) s, then one request tries it")
      }
      facts.reach = .down
      facts.pausedUntil = now.advanced(byMilliseconds: pauseMilliseconds)
    }
    origin?.doubt()
  }

  // MARK: What health checks find out

  /// Takes the result of one check: nil when it passed, else why it failed. The first one decides alone; a server that was never checked
  /// has shown nothing yet.
  func noteCheck(failure: String?, of check: HealthCheck) {
    change { facts in
      let passed = failure == nil
      let needed = facts.wasChecked ? (passed ? check.healthyCount : check.unhealthyCount) : 1
      facts.wasChecked = true
      if passed != facts.isHealthy {
        facts.contraryChecks += 1
        if facts.contraryChecks >= needed { turn(&facts, failure) }
      } else {
        facts.contraryChecks = 0
      }
      if passed, facts.reach != .up {
        facts.reach = .up
        if facts.isHealthy { tell(facts, .notice, "is up again: it passed a health check") }
      }
    }
  }

  private func turn(_ facts: inout Facts, _ failure: String?) {
    facts.contraryChecks = 0
    facts.isHealthy = failure == nil
    if let failure {
      metrics.count(.health)
      tell(facts, .warning, "is unhealthy: \(failure); it gets no requests until it passes its health checks")
    } else {
      // Who answers a check has been reached.
      facts.reach = .up
      tell(facts, .notice, "is up again: it passed its health checks")
    }
  }

  /// Its address is gone: nothing more is told of it.
  func retire() {
    facts.withLock { facts in
      facts.isRetired = true
      metrics.forget(server: name)
    }
  }

  // MARK: Changes

  /// Changes the facts, and all that follows from them.
  private func change<Result>(_ body: (inout Facts) -> Result) -> Result {
    facts.withLock { facts in
      let before = facts.condition
      let result = body(&facts)
      let blocked = !facts.isHealthy ? Instant.never : facts.reach == .up ? Instant(nanoseconds: 0) : facts.pausedUntil
      blockedUntil.store(blocked.nanoseconds, ordering: .relaxed)
      if facts.condition != before, !facts.isRetired { metrics.show(facts.condition, of: name) }
      return result
    }
  }

  private func tell(_ facts: Facts, _ level: Diagnostics.Level, _ message: String) {
    if !facts.isRetired { metrics.tell(level, "server \(name) \(message)") }
  }
}
