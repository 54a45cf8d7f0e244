import HTTP
import Telemetry

/// What one worker counts of limits that took effect.
final class LimitMetrics {
  /// Why accepting stopped for a while.
  enum AcceptPause: String, CaseIterable {
    /// `limits.connections` is reached.
    case connections
    /// Few descriptors are left.
    case descriptors
    /// The kernel has no descriptors or no memory.
    case kernel
    /// The process takes nearly as much memory as it may.
    case memory
  }

  /// Which time ran out.
  enum Timeout: String, CaseIterable {
    /// `tls.handshake_timeout`.
    case handshake
    /// `head_timeout`.
    case head
    /// `body_timeout`.
    case body
    /// `body_min_rate`.
    case bodyRate = "body_rate"
    /// `idle_timeout`.
    case idle
    /// `write_timeout`.
    case write
    /// `write_min_rate`.
    case writeRate = "write_rate"
    /// The route's `timeout`.
    case request
    /// The upstream's `response_timeout`.
    case response
    /// The upstream's `idle_timeout`.
    case upstreamIdle = "upstream_idle"
  }

  /// Whose rate was exceeded.
  enum RateOf: String, CaseIterable {
    /// The client's address.
    case address
    /// The verified key.
    case key
    /// Enrolments of the whole gate.
    case enrolment
  }

  private let acceptPauses: [Counter]
  private let timeouts: [Counter]
  private let rateLimited: [Counter]
  /// Connections that were closed at once because their address has too many.
  let refusedByAddress: Counter
  /// Connections that ended because they had served `limits.requests_per_connection`.
  let requestsPerConnectionReached: Counter

  init(registry: MetricRegistry) {
    let pauses = MetricFamily(
      "attestgate_accept_pauses_total", .counter, "Times that accepting connections stopped for a while, by reason.")
    acceptPauses = AcceptPause.allCases.map { registry.counter(pauses, [MetricLabel("reason", $0.rawValue)]) }
    let timeouts = MetricFamily(
      "attestgate_timeouts_total", .counter, "Connections or requests that ended because a time ran out, by kind.")
    self.timeouts = Timeout.allCases.map { registry.counter(timeouts, [MetricLabel("kind", $0.rawValue)]) }
    let limited = MetricFamily("attestgate_rate_limited_total", .counter, "Requests answered 429, by whose rate was exceeded.")
    rateLimited = RateOf.allCases.map { registry.counter(limited, [MetricLabel("by", $0.rawValue)]) }
    let reached = MetricFamily("attestgate_connection_limits_total", .counter, "Connections that a limit ended, by limit.")
    refusedByAddress = registry.counter(reached, [MetricLabel("limit", "connections_per_address")])
    requestsPerConnectionReached = registry.counter(reached, [MetricLabel("limit", "requests_per_connection")])
  }

  func count(_ pause: AcceptPause) { Self.add(pause, to: acceptPauses) }
  func count(_ timeout: Timeout) { Self.add(timeout, to: timeouts) }
  func count(_ rate: RateOf) { Self.add(rate, to: rateLimited) }

  private static func add<Kind: CaseIterable & Equatable>(_ kind: Kind, to counters: [Counter]) {
    if let (_, counter) = zip(Kind.allCases, counters).first(where: { $0.0 == kind }) { counter.add() }
  }
}
