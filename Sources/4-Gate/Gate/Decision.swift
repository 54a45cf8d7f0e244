public import AppAttest
public import HTTP

/// What the gate decided about one request, for the log line and the metrics. Nothing of it is for the client.
public struct Decision: Sendable, Equatable {
  /// What became of the request.
  public enum Outcome: String, Sendable, CaseIterable {
    /// The route has no gate.
    case open
    /// Every check passed.
    case verified
    /// Let through though a check failed: the route monitors, or admits while the store is away.
    case unverified
    /// Answered by the gate.
    case refused
  }

  /// The route's mode.
  public var mode: GatePolicy.Mode
  /// What became of the request.
  public var outcome: Outcome
  /// The check that failed; nil when every one passed or none was made.
  public var reason: ProblemCode?
  /// Which of the two kinds of `counter_replayed`.
  public var replay: CounterReplay?
  /// The key that signed; where no signature was verified, the one that the request named.
  public var key: KeyIdentifier?
  /// How far the accepted counter lies above the highest one before: zero or negative inside a window.
  public var counterDelta: Int?
  /// What went wrong with the store.
  public var storeFailure: String?
  /// Time spent waiting for the store, in nanoseconds.
  public var storeNanoseconds: UInt64 = 0

  /// A decision.
  public init(mode: GatePolicy.Mode, outcome: Outcome, reason: ProblemCode? = nil) {
    self.mode = mode
    self.outcome = outcome
    self.reason = reason
  }

  /// Firebase's class of it; nil for an open route and where the gate was not able to judge.
  public var decisionClass: DecisionClass? {
    if outcome == .verified { return .verified }
    return reason.flatMap(DecisionClass.init(failure:))
  }

  /// The reason as a metric's label: the code, and for a counter which kind of replay; empty when every check passed.
  public var reasonLabel: String {
    guard let reason else { return "" }
    return replay.map { "\(reason.rawValue)_\($0.rawValue)" } ?? reason.rawValue
  }

  /// The first 8 characters of the key identifier in Apple's form, as the log shows it.
  public var keyPrefix: String? { key.map { String($0.base64.prefix(8)) } }
}
