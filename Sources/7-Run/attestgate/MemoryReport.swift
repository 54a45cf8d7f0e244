import Configuration
import EventLoop
import Telemetry

/// Tells the operator, in metrics and in words, how short of memory the process is.
struct MemoryReport {
  private let diagnostics: Diagnostics
  private let pressure: Gauge
  private let limit: Gauge

  init(_ registry: MetricRegistry, _ diagnostics: Diagnostics) {
    self.diagnostics = diagnostics
    pressure = registry.gauge(
      MetricFamily(
        "attestgate_memory_pressure", .gauge, "0: enough memory. 1: no connections are accepted. 2: requests are refused as well."))
    limit = registry.gauge(
      MetricFamily("attestgate_memory_limit_bytes", .gauge, "Memory that the process may take; 0 when it is not limited."))
  }

  /// Starts the watch, which has nothing to judge by where memory is not bounded.
  func watch(_ watch: MemoryWatch, _ bound: Configuration.MemoryBound) {
    let bytes: Int?
    switch bound {
    case .none: bytes = nil
    case .automatic: bytes = MemoryLimit.ofSystem()
    case .bytes(let count): bytes = count
    }
    if let bytes { limit.set(Int64(bytes)) }
    let (diagnostics, gauge) = (diagnostics, pressure)
    watch.start(limit: bytes) { pressure, use in
      gauge.set(Int64(pressure.rawValue))
      diagnostics.note(
        pressure == .none ? .notice : .warning, "memory: \(use.used >> 20) of \(use.limit >> 20) MiB: \(Self.meaning(pressure))")
    }
  }

  private static func meaning(_ pressure: MemoryPressure) -> String {
    switch pressure {
    case .none: "connections are accepted again"
    case .high: "no connections are accepted until it is less, and long bodies go to files"
    case .critical: "every request is refused until it is less"
    }
  }
}
