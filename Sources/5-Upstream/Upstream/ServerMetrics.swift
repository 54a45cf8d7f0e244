import Synchronization
import Telemetry

/// What is counted about an upstream's servers for the whole process, and what the operator is told.
///
/// The series of a server go with it, so that names whose addresses change do not leave ever more of them behind.
final class ServerMetrics: Sendable {
  /// Why a server gets no requests.
  enum Ejection: String, CaseIterable {
    /// No connection to it could be made.
    case connect
    /// It failed its health checks.
    case health
  }

  private static let up = MetricFamily(
    "attestgate_upstream_server_up", .gauge, "Whether a server of an upstream gets its share of the requests.")
  private static let state = MetricFamily(
    "attestgate_upstream_server_state", .gauge, "The state of a server of an upstream: 1 for the one that it is in.")

  private let registry: MetricRegistry
  private let upstream: String
  private let diagnostics: Diagnostics?
  private let ejections: [Counter]
  private let checksPassed: Counter
  private let checksFailed: Counter
  private let lookUpFailures: Counter
  // A counter has one writer at a time; here any worker may be the one that notes an ejection.
  private let ejecting = Mutex(())

  /// Makes the series of an upstream in a registry that belongs to no worker.
  init(registry: MetricRegistry, upstream: String, diagnostics: Diagnostics?) {
    self.registry = registry
    self.upstream = upstream
    self.diagnostics = diagnostics
    let own = MetricLabel("upstream", upstream)
    let ejected = MetricFamily("attestgate_upstream_ejections_total", .counter, "Times that a server stopped getting requests, by reason.")
    ejections = Ejection.allCases.map { registry.counter(ejected, [own, MetricLabel("reason", $0.rawValue)]) }
    let checks = MetricFamily("attestgate_upstream_health_checks_total", .counter, "Health checks of servers, by result.")
    checksPassed = registry.counter(checks, [own, MetricLabel("result", "passed")])
    checksFailed = registry.counter(checks, [own, MetricLabel("result", "failed")])
    lookUpFailures = registry.counter(
      MetricFamily("attestgate_upstream_lookup_failures_total", .counter, "Look-ups of servers' names that gave no address."), [own])
  }

  func count(_ ejection: Ejection) {
    guard let index = Ejection.allCases.firstIndex(of: ejection) else { return }
    ejecting.withLock { _ in ejections[index].add() }
  }

  /// Counts a check; called by the monitor alone.
  func countCheck(passed: Bool) { (passed ? checksPassed : checksFailed).add() }

  /// Counts a look-up; called by the monitor alone.
  func countLookUpFailure() { lookUpFailures.add() }

  /// Shows the state of a server.
  func show(_ condition: ServerState.Condition, of server: String) {
    registry.gauge(Self.up, labels(server)).set(condition == .up ? 1 : 0)
    for each in ServerState.Condition.allCases {
      registry.gauge(Self.state, labels(server) + [MetricLabel("state", each.rawValue)]).set(each == condition ? 1 : 0)
    }
  }

  /// Forgets a server that is gone.
  func forget(server: String) { registry.removeSeries(with: labels(server)) }

  /// Tells the operator about a server, once whatever the number of workers.
  func tell(_ level: Diagnostics.Level, _ message: String) { diagnostics?.note(level, "upstream \(upstream): \(message)") }

  private func labels(_ server: String) -> [MetricLabel] { [MetricLabel("upstream", upstream), MetricLabel("server", server)] }
}
