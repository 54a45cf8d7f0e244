import EventLoop
import Synchronization

/// How many connections a listener has, in all and by client network. Counted for all workers together, since the kernel does not deal
/// connections out evenly, and only when one comes or goes.
final class ConnectionLimit: Sendable {
  private struct State {
    var connectionsMax: Int
    var connectionsPerNetworkMax: Int
    var count = 0
    var countByNetwork: [ClientNetwork: Int] = [:]
  }

  private let state: Mutex<State>

  init(_ settings: ListenerSettings) {
    state = Mutex(State(connectionsMax: settings.connectionsMax, connectionsPerNetworkMax: settings.connectionsPerAddressMax))
  }

  /// Goes over to the numbers of other settings; what is counted stays.
  func follow(_ settings: ListenerSettings) {
    state.withLock { state in
      state.connectionsMax = settings.connectionsMax
      state.connectionsPerNetworkMax = settings.connectionsPerAddressMax
    }
  }

  /// Whether no more connections should be accepted.
  var isReached: Bool { state.withLock { $0.count >= $0.connectionsMax } }

  /// Connections now.
  var count: Int { state.withLock { $0.count } }

  /// A place for one more connection; nil when all are taken. `always` is for what the kernel has accepted already when the gate stops.
  func reserve(always: Bool = false) -> ConnectionSlot? {
    let isFree = state.withLock { state in
      guard always || state.count < state.connectionsMax else { return false }
      state.count += 1
      return true
    }
    return isFree ? ConnectionSlot(self) : nil
  }

  /// Counts the network too; false when it has as many as it may.
  fileprivate func claim(_ network: ClientNetwork) -> Bool {
    state.withLock { state in
      let count = state.countByNetwork[network, default: 0]
      guard count < state.connectionsPerNetworkMax else { return false }
      state.countByNetwork[network] = count + 1
      return true
    }
  }

  fileprivate func release(_ network: ClientNetwork?) {
    state.withLock { state in
      state.count -= 1
      guard let network, let count = state.countByNetwork[network] else { return }
      state.countByNetwork[network] = count > 1 ? count - 1 : nil
    }
  }
}

/// One connection's place among those that a listener may have. It is given back when the value ends, on whatever way.
struct ConnectionSlot: ~Copyable {
  private let limit: ConnectionLimit
  private var network: ClientNetwork?

  fileprivate init(_ limit: ConnectionLimit) { self.limit = limit }

  deinit { limit.release(network) }

  /// Counts the connection for its client's network as well; false when that has as many as it may. A Unix socket's client has none.
  mutating func claim(_ network: ClientNetwork?) -> Bool {
    guard let network else { return true }
    guard limit.claim(network) else { return false }
    self.network = network
    return true
  }
}
