public import EventLoop

/// How one worker sees the store: for readiness, metrics and the log.
public struct StoreHealth: Sendable, Equatable {
  /// Whether commands are taken now.
  public var isUp: Bool
  /// Since when they are, or are not.
  public var since: Instant
  /// Why the last connection was lost or not made; nil before the first failure. For the log, never for a client.
  public var lastFailure: String?
  /// What the operator should mend although the store works.
  public var warnings: [StoreWarning]

  /// A view of the store.
  public init(isUp: Bool, since: Instant, lastFailure: String? = nil, warnings: [StoreWarning] = []) {
    self.isUp = isUp
    self.since = since
    self.lastFailure = lastFailure
    self.warnings = warnings
  }
}

/// Something about the store that works now and will hurt later (store.md, "Challenges are sealed").
public enum StoreWarning: Sendable, Equatable {
  /// The store's clock and the gate's are so many seconds apart (positive: the store is ahead).
  case clockSkew(seconds: Int)
  /// Redis may evict enrolled keys under this `maxmemory-policy`.
  case eviction(policy: String)
  /// Neither snapshots nor an append-only file: enrolled keys are gone when Redis restarts.
  case notPersistent

  /// Whether it belongs into the log as an error: enrolled keys can be lost while everything seems to run.
  public var isError: Bool {
    if case .eviction = self { return true }
    return false
  }

  /// For the log and for people: what is wrong, and the mend.
  public var message: String {
    switch self {
    case .clockSkew(let seconds):
      "the clocks of this gate and of Redis are \(seconds.magnitude) s apart (Redis is \(seconds > 0 ? "ahead" : "behind")): "
        + "challenges expire too early or too late; synchronise both"
    case .eviction(let policy):
      "maxmemory-policy \(policy) lets Redis evict enrolled keys: set it to noeviction"
    case .notPersistent:
      "Redis saves nothing to disk: enrolled keys are lost when it restarts; turn on appendonly or save"
    }
  }

  /// A word for metrics: `clock_skew`, `eviction`, `not_persistent`.
  public var label: StaticString {
    switch self {
    case .clockSkew: "clock_skew"
    case .eviction: "eviction"
    case .notPersistent: "not_persistent"
    }
  }
}
