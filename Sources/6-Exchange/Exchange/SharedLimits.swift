public import EventLoop
import Routing
import Synchronization

/// What the workers of a process count together, because a limit divided among them would be another limit for a client that has only
/// one connection. None of it is touched by a request on a route without a rate. It outlives a reload of the configuration.
public final class SharedLimits: Sendable {
  private struct State {
    var connections: [BindAddress: ConnectionLimit] = [:]
    var numbers: [String: Int] = [:]
  }

  private let state = Mutex(State())
  /// By client network.
  let rates = RateTable()
  private let enrolments = Mutex(TokenBucket())

  /// Which of the limits by address.
  enum AddressLimit {
    case endpoints
    /// The route with this number of ``numberOfRoute(_:)``.
    case route(Int)

    var number: Int {
      switch self {
      case .endpoints: 0
      case .route(let number): number
      }
    }
  }

  /// How short of memory the process is.
  let memory: MemoryWatch

  /// Limits of which none is in use yet.
  public init(memory: MemoryWatch = MemoryWatch()) { self.memory = memory }

  /// The connections of a listener, counted by where it listens, with the numbers of its present settings.
  func connections(of listener: ListenerSettings) -> ConnectionLimit {
    state.withLock { state in
      if let known = state.connections[listener.bind] {
        known.follow(listener)
        return known
      }
      let limit = ConnectionLimit(listener)
      state.connections[listener.bind] = limit
      return limit
    }
  }

  /// Under which number the rate of a route is kept: that of the route that took the same requests before.
  func numberOfRoute(_ route: RouteSettings) -> Int {
    state.withLock { state in
      let name = "\(route.pattern.methods) \(route.label)"
      if let known = state.numbers[name] { return known }
      let number = state.numbers.count + 1
      state.numbers[name] = number
      return number
    }
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
