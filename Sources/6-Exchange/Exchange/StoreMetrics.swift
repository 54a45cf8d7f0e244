import Store
import Telemetry

extension WorkerMetrics {
  static let storeDuration = MetricFamily("attestgate_store_duration_seconds", .histogram, "Time of a store command, by command.")
  static let storeFailures = MetricFamily("attestgate_store_failures_total", .counter, "Store commands that failed, by command.")

  /// Counts what the worker asks of the store, and tells the operator when it goes and comes.
  func watch(_ store: any Store, diagnostics: Diagnostics?) {
    let durations = StoreCommand.allCases.map { registry.histogram(Self.storeDuration, [MetricLabel("command", $0.rawValue)]) }
    let failures = StoreCommand.allCases.map { registry.counter(Self.storeFailures, [MetricLabel("command", $0.rawValue)]) }
    store.onCommand = { command, nanoseconds, failed in
      guard let index = StoreCommand.allCases.firstIndex(of: command) else { return }
      durations[index].observe(nanoseconds: nanoseconds)
      if failed { failures[index].add() }
    }
    let up = storeUp
    up.set(store.health.isUp ? 1 : 0)
    store.onHealthChange = { health in
      up.set(health.isUp ? 1 : 0)
      if let diagnostics { Self.report(health, to: diagnostics) }
    }
  }

  private static func report(_ health: StoreHealth, to diagnostics: Diagnostics) {
    guard health.isUp else {
      return diagnostics.note(
        .error, "store: down: \(health.lastFailure ?? "not connected yet"); gated requests are refused until it is back")
    }
    diagnostics.note(.notice, "store: up")
    for warning in health.warnings { diagnostics.note(warning.isError ? .error : .warning, "store: \(warning.message)") }
  }
}
