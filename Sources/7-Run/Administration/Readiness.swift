import EventLoop
import Store

/// Whether a load balancer should send requests here.
public struct Readiness: Sendable, Equatable {
  /// How far the process is in its life.
  public enum Phase: String, Sendable {
    /// Before the listeners are served.
    case starting
    /// Serving.
    case serving
    /// It was asked to end.
    case draining
  }

  /// How long the store may be away before a gate that can serve nothing without it says so.
  static let storeGraceMilliseconds = 5_000

  /// How far the process is in its life.
  public var phase: Phase
  /// Whether no route can be served without the store: all are enforced with `on_store_failure: reject`.
  public var needsStore: Bool

  /// A state.
  public init(phase: Phase, needsStore: Bool) {
    self.phase = phase
    self.needsStore = needsStore
  }

  /// Whether requests are welcome. A store that is away for a moment does not count, and one that only some routes need never does:
  /// open routes are not to be taken out of a load balancer.
  func isReady(store: StoreHealth?, now: Instant) -> Bool {
    guard phase == .serving else { return false }
    guard needsStore, let store, !store.isUp else { return true }
    return store.since.advanced(byMilliseconds: Self.storeGraceMilliseconds) > now
  }
}
