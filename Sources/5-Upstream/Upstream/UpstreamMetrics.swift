public import Telemetry

/// What one worker counts about one upstream.
public final class UpstreamMetrics: Sendable {
  let active: Gauge
  let idle: Gauge
  let connectFailures: Counter
  let queued: Gauge
  let queueFull: Counter
  let queueTimeouts: Counter
  /// From the first byte sent to the head of the answer.
  public let duration: Histogram

  /// Makes the upstream's series in the worker's registry.
  public init(registry: MetricRegistry, upstream: String) {
    let connections = MetricFamily("attestgate_upstream_connections", .gauge, "Connections to upstream servers by state.")
    active = registry.gauge(connections, [MetricLabel("upstream", upstream), MetricLabel("state", "active")])
    idle = registry.gauge(connections, [MetricLabel("upstream", upstream), MetricLabel("state", "idle")])
    connectFailures = registry.counter(
      MetricFamily("attestgate_upstream_connect_failures_total", .counter, "Connections to upstream servers that could not be made."),
      [MetricLabel("upstream", upstream)])
    queued = registry.gauge(
      MetricFamily("attestgate_upstream_queued_requests", .gauge, "Requests that wait for a place among max_concurrent."),
      [MetricLabel("upstream", upstream)])
    let overloaded = MetricFamily(
      "attestgate_upstream_overloaded_total", .counter, "Requests refused because max_concurrent were under way, by reason.")
    queueFull = registry.counter(overloaded, [MetricLabel("upstream", upstream), MetricLabel("reason", "queue_full")])
    queueTimeouts = registry.counter(overloaded, [MetricLabel("upstream", upstream), MetricLabel("reason", "queue_timeout")])
    duration = registry.histogram(
      MetricFamily("attestgate_upstream_duration_seconds", .histogram, "Time from sending a request to the head of its answer."),
      [MetricLabel("upstream", upstream)])
  }
}
