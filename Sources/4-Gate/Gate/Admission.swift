public import AppAttest
public import Bytes
import Cryptography
import HTTP
import Store

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
}

// MARK: The four grounds

extension Admission {
  /// For a route without a gate; nil for any other, which must be examined.
  public static func open(under policy: SharedPolicy) -> Admission? {
    guard policy.mode == .off else { return nil }
    return Admission(.open, Decision(mode: .off, outcome: .open))
  }

  /// For a request that failed a check on a route that only monitors; nil on any other.
  static func monitored(_ failure: CheckFailure, under policy: SharedPolicy, _ trace: GateTrace) -> Admission? {
    guard policy.mode == .monitor else { return nil }
    return Admission(.unverified(failure.code), Decision(failure, .unverified, policy.mode, trace))
  }

  /// For a request that the store could not judge, on a route that admits it then (`on_store_failure: allow`); nil on any other, and
  /// when the store may have accepted it without saying so, since a copy of it might then pass twice.
  static func unjudged(_ failure: CheckFailure, under policy: SharedPolicy, _ trace: GateTrace) -> Admission? {
    guard policy.admitsOnStoreFailure, policy.mode == .enforce, failure.code == .storeUnavailable, !failure.isOutcomeUnknown else {
      return nil
    }
    return Admission(.unverified(failure.code), Decision(failure, .unverified, policy.mode, trace))
  }

  /// For a verified assertion that the store accepts in one atomic step (step 8).
  static func verified(
    _ request: consuming SignedRequest, under policy: SharedPolicy, seenAt: Int, _ trace: inout GateTrace
  ) async throws(StoreFailure) -> CommittedRequest {
    let key = request.key.key
    let counter = request.assertion.counter
    guard request.assertion.keyIdentifier == key.identifier else { return .refused(.keyUnknown) }
    let commit = Commit(
      key: key.identifier, counter: counter, rule: policy.counter, challenge: request.challenge, rate: policy.keyRate, seenAt: seenAt)
    let outcome = try await trace.store.commit(commit)
    guard case .accepted(let previousCounter) = outcome else { return .refused(outcome) }
    var decision = Decision(mode: policy.mode, outcome: .verified)
    decision.key = key.identifier
    decision.counterDelta = Int(counter) - Int(previousCounter)
    decision.storeNanoseconds = trace.store.nanoseconds
    return .accepted(Admission(.verified(key.identifier, app: key.app, environment: key.environment, counter: counter), decision))
  }
}

/// What the store said of a verified assertion.
enum CommittedRequest: ~Copyable {
  case accepted(Admission)
  /// Anything but accepted; nothing was changed.
  case refused(CommitOutcome)
}

extension Decision {
  /// The decision about a request that failed a check.
  init(_ failure: CheckFailure, _ outcome: Outcome, _ mode: GatePolicy.Mode, _ trace: GateTrace) {
    self.init(mode: mode, outcome: outcome, reason: failure.code)
    replay = failure.replay
    key = trace.key
    storeFailure = failure.storeFailure
    storeNanoseconds = trace.store.nanoseconds
  }
}

// MARK: What the upstream sees

extension Admission {
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
      queue.append(base64: key.digest.span)
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
