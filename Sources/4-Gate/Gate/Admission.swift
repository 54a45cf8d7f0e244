public import AppAttest
public import Bytes
import HTTP

/// The gate's word that one request may be forwarded, once. `Upstream.forward` consumes it, and only this file can make one.
public struct Admission: ~Copyable {
  fileprivate enum Ground {
    case open
    case unverified(ProblemCode)
    case verified(KeyIdentifier, app: String, environment: AttestationEnvironment, counter: UInt32)
  }

  private let ground: Ground
  /// For log and metrics.
  public let decision: Decision

  fileprivate init(_ ground: Ground, _ decision: Decision) {
    self.ground = ground
    self.decision = decision
  }

  /// The key whose signature was verified: the connection's hint for its next request.
  public var verifiedKey: KeyIdentifier? {
    if case .verified(let key, _, _, _) = ground { key } else { nil }
  }

  /// For a route without a gate; nil for any other, which must be examined.
  public static func open(under policy: GatePolicy) -> Admission? {
    guard policy.mode == .off else { return nil }
    return Admission(.open, Decision(mode: .off, outcome: .open))
  }

  /// Appends the header lines by which the upstream sees the verdict (wire.md, "What the upstream sees"); an open route has none.
  public func appendFields(to queue: inout ByteQueue) {
    switch ground {
    case .open: break
    case .unverified(let reason):
      queue.append("X-App-Attest-Status: unverified\r\nX-App-Attest-Reason: ")
      queue.append(reason.rawValue)
      queue.append("\r\n")
    case .verified(let key, let app, let environment, let counter):
      queue.append("X-App-Attest-Status: verified\r\nX-App-Attest-Key-Id: ")
      queue.append(key.base64)
      queue.append("\r\nX-App-Attest-App: ")
      queue.append(app)
      queue.append("\r\nX-App-Attest-Environment: ")
      queue.append(environment.rawValue)
      queue.append("\r\nX-App-Attest-Counter: ")
      queue.append(decimal: Int(counter))
      queue.append("\r\n")
    }
  }
}
