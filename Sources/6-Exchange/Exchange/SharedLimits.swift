public import EventLoop
import Synchronization

/// What the workers of a process count together, because a limit divided among them would be another limit for a client that has only
/// one connection. None of it is touched by a request on a route without a rate.
public final class SharedLimits: Sendable {
  /// By listener.
  let connections: [ConnectionLimit]
  /// By client network.
  let rates = RateTable()
  private let enrolments = Mutex(TokenBucket())

  /// Which of the limits by address.
  enum AddressLimit {
    case endpoints
    /// The route with this index.
    case route(Int)

    var number: Int {
      switch self {
      case .endpoints: 0
      case .route(let index): index + 1
      }
    }
  }

  /// How short of memory the process is.
  let memory: MemoryWatch

  /// Limits of a site's listeners.
  public init(_ site: Site, memory: MemoryWatch = MemoryWatch()) {
    connections = site.listeners.map(ConnectionLimit.init)
    self.memory = memory
  }

  /// Takes one from the bucket of a client's network; else says how many nanoseconds to wait.
  func take(_ rate: Rate?, of network: ClientNetwork?, _ limit: AddressLimit, now: Instant) -> UInt64? {
    guard let rate, let network else { return nil }
    return rates.take(rate, of: network, limit: limit.number, now: now)
  }

  /// Takes one from the gate's bucket of enrolments; else says how many nanoseconds to wait.
  func takeEnrolment(_ rate: Rate?, now: Instant) -> UInt64? {
    guard let rate else { return nil }
    return enrolments.withLock { $0.take(rate, now: now) }
  }
}
