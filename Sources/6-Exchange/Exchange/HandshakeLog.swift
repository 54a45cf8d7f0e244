import EventLoop
import TLS
import Telemetry

/// Tells the operator why clients do not get in by TLS: their certificate, or what they think of ours. Confined to a worker.
///
/// Anybody can make handshakes fail, as often as he likes: one line in a while stands for all.
final class HandshakeLog {
  static let pauseMilliseconds = 10_000

  private let diagnostics: Diagnostics
  private var quietUntil = Instant(nanoseconds: 0)
  private var untoldCount = 0

  init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

  /// A client that went away or was too slow is no news.
  func note(_ failure: TLSFailure, of client: Client, at listener: BindAddress, now: Instant) {
    guard failure.side == .peer || failure.side == .ours else { return }
    guard quietUntil <= now else { return untoldCount += 1 }
    let others = untoldCount == 0 ? "" : "; \(untoldCount) more failed since the last such line"
    quietUntil = now.advanced(byMilliseconds: Self.pauseMilliseconds)
    untoldCount = 0
    diagnostics.note(
      failure.side == .ours ? .error : .notice, "TLS with \(client.text) at \(listener) was not agreed upon: \(failure.reason)\(others)")
  }
}
