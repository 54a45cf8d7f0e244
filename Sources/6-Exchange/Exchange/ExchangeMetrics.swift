import Gate
import HTTP
import Telemetry

/// What one worker counts about one route, or about what no route took.
final class RouteMetrics {
  static let requests = MetricFamily("attestgate_requests_total", .counter, "Requests answered, by route, method and status.")
  static let duration = MetricFamily(
    "attestgate_request_duration_seconds", .histogram, "Time from a request's head to the last byte of its answer.")
  static let decisions = MetricFamily(
    "attestgate_gate_decisions_total", .counter, "What the gate decided, by route, mode, decision, reason and class.")
  static let failOpen = MetricFamily(
    "attestgate_gate_admitted_without_store_total", .counter, "Requests let through by on_store_failure: allow.")

  private let registry: MetricRegistry
  private let route: MetricLabel
  private let duration: Histogram
  private let failOpen: Counter
  private var requests: [Int: Counter] = [:]
  private var decisions: [DecisionKey: Counter] = [:]
  /// What was counted last, which is mostly what will be next.
  private var lastRequest: (key: Int, counter: Counter)?
  private var lastDecision: (key: DecisionKey, counter: Counter)?

  private struct DecisionKey: Hashable {
    var outcome: Decision.Outcome
    var reason: ProblemCode?
    var replay: CounterReplay?
  }

  init(registry: MetricRegistry, route: String) {
    self.registry = registry
    self.route = MetricLabel("route", route)
    duration = registry.histogram(Self.duration, [self.route])
    failOpen = registry.counter(Self.failOpen, [self.route])
  }

  func count(method: RequestMethod, status: Int, nanoseconds: UInt64) {
    duration.observe(nanoseconds: nanoseconds)
    let key = status * 16 + Int(method.rawValue)
    if let lastRequest, lastRequest.key == key { return lastRequest.counter.add() }
    let counter =
      requests[key]
      ?? registry.counter(
        Self.requests, [route, MetricLabel("method", method.label), MetricLabel("code", "\(status)")])
    requests[key] = counter
    lastRequest = (key, counter)
    counter.add()
  }

  func count(_ decision: Decision) {
    guard decision.outcome != .open else { return }
    if decision.mode == .enforce && decision.outcome == .unverified { failOpen.add() }
    let key = DecisionKey(outcome: decision.outcome, reason: decision.reason, replay: decision.replay)
    if let lastDecision, lastDecision.key == key { return lastDecision.counter.add() }
    let counter = decisions[key] ?? registry.counter(Self.decisions, labels(of: decision))
    decisions[key] = counter
    lastDecision = (key, counter)
    counter.add()
  }

  private func labels(of decision: Decision) -> [MetricLabel] {
    [
      route, MetricLabel("mode", decision.mode.rawValue), MetricLabel("decision", decision.outcome.rawValue),
      MetricLabel("reason", decision.reasonLabel), MetricLabel("class", decision.decisionClass?.rawValue ?? ""),
    ]
  }
}

extension RequestMethod {
  /// As metrics name it: a method that nobody knows is `other`, so that clients cannot make series.
  var label: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .patch: "PATCH"
    case .connect: "CONNECT"
    case .trace: "TRACE"
    case .other: "other"
    }
  }
}

/// What one worker counts about itself.
final class WorkerMetrics {
  let connections: Gauge
  let requestsInFlight: Gauge
  let limits: LimitMetrics
  let handshakes: HandshakeMetrics
  /// Open tunnels.
  let tunnels: Gauge
  let storeUp: Gauge
  let registry: MetricRegistry

  init(registry: MetricRegistry) {
    self.registry = registry
    connections = registry.gauge(MetricFamily("attestgate_connections", .gauge, "Open connections of clients."))
    requestsInFlight = registry.gauge(MetricFamily("attestgate_requests_in_flight", .gauge, "Requests being served."))
    limits = LimitMetrics(registry: registry)
    handshakes = HandshakeMetrics(registry: registry)
    tunnels = registry.gauge(MetricFamily("attestgate_tunnels", .gauge, "Open WebSocket connections through the gate."))
    storeUp = registry.gauge(MetricFamily("attestgate_store_up", .gauge, "Workers whose store takes commands."))
  }

  private static let tunnelsEnded = MetricFamily("attestgate_tunnels_ended_total", .counter, "WebSocket connections that ended, by reason.")
  private static let proxyHeadersRefused = MetricFamily(
    "attestgate_proxy_headers_refused_total", .counter, "Connections closed for want of a good PROXY header, by reason.")

  func countTunnel(_ end: Tunnel.End) { registry.counter(Self.tunnelsEnded, [MetricLabel("reason", end.rawValue)]).add() }

  func countProxyHeader(_ refusal: ProxyHeaderRefusal) {
    registry.counter(Self.proxyHeadersRefused, [MetricLabel("reason", refusal.label)]).add()
  }
}
