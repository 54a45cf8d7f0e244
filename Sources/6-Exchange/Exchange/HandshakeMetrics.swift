import TLS
import Telemetry

/// What one worker counts of its clients' handshakes.
final class HandshakeMetrics {
  private let done: [Counter]
  private let failed: [Counter]

  init(registry: MetricRegistry) {
    let handshakes = MetricFamily(
      "attestgate_tls_handshakes_total", .counter, "TLS handshakes with clients, by version and whether resumed.")
    done = TLSVersion.allCases.flatMap { version in
      [false, true].map { registry.counter(handshakes, [MetricLabel("version", version.rawValue), MetricLabel("resumed", "\($0)")]) }
    }
    let failures = MetricFamily(
      "attestgate_tls_handshake_failures_total", .counter, "TLS handshakes with clients that failed, by whose fault it was.")
    failed = TLSFailure.Side.allCases.map { registry.counter(failures, [MetricLabel("side", $0.rawValue)]) }
  }

  func count(_ session: TLSSession) {
    guard let version = TLSVersion.allCases.firstIndex(of: session.version) else { return }
    done[version * 2 + (session.isResumed ? 1 : 0)].add()
  }

  func count(_ failure: TLSFailure) {
    if let side = TLSFailure.Side.allCases.firstIndex(of: failure.side) { failed[side].add() }
  }
}
