import EventLoop
import Synchronization
public import Telemetry

/// A name among an upstream's servers, whose addresses are looked up again and again.
final class ServerName: Sendable {
  /// As configured.
  let server: UpstreamSettings.Server
  private let isDoubted = Atomic(false)

  init(_ server: UpstreamSettings.Server) { self.server = server }

  /// One of its addresses did not serve: it is looked up before its time.
  func doubt() { isDoubted.store(true, ordering: .relaxed) }

  /// Whether there was a doubt since the last call.
  func takeDoubt() -> Bool { isDoubted.exchange(false, ordering: .relaxed) }
}

/// The servers of one upstream for all workers of the process: each address is one, and a name has as many as are found for it.
///
/// ``UpstreamMonitor`` alone changes which there are. Workers see by one number that they have changed.
public final class UpstreamServers: Sendable {
  /// Addresses of a name that are used; more would be more series and pools than anybody meant.
  static let addressesMax = 64

  private enum Entry {
    case address(ServerState)
    case name(ServerName, [ServerState], wasLookedUp: Bool)
  }

  private struct Contents {
    /// In the order of the configuration.
    var entries: [Entry] = []
    /// Workers' requests that came before the first look-up ended.
    var waiting: [ObjectIdentifier: RemoteSignal] = [:]

    var all: [ServerState] {
      entries.flatMap { entry in
        switch entry {
        case .address(let server): [server]
        case .name(_, let servers, _): servers
        }
      }
    }

    var awaitsLookUp: Bool {
      entries.contains { if case .name(_, _, wasLookedUp: false) = $0 { true } else { false } }
    }
  }

  /// What proxy.yaml says of the upstream.
  public let settings: UpstreamSettings
  let metrics: ServerMetrics
  private let contents = Mutex(Contents())
  private let changes = Atomic(0)

  /// The servers that need no look-up, and for names those that `former` upstreams know, until they are looked up; else none yet. Their
  /// series are made in `registry`, which belongs to no worker.
  public init(
    _ settings: UpstreamSettings, registry: MetricRegistry, diagnostics: Diagnostics? = nil, former: [UpstreamServers] = []
  ) {
    self.settings = settings
    let metrics = ServerMetrics(registry: registry, upstream: settings.name, diagnostics: diagnostics)
    self.metrics = metrics
    let entries: [Entry] = settings.servers.map { server in
      guard let address = server.address else {
        let name = ServerName(server)
        let known = former.lazy.map { $0.addresses(of: server) }.first { !$0.isEmpty } ?? []
        let servers = known.map {
          ServerState(server, at: $0, origin: name, pauseMilliseconds: settings.failurePauseMilliseconds, metrics: metrics)
        }
        return .name(name, servers, wasLookedUp: !known.isEmpty)
      }
      return .address(
        ServerState(server, at: address, pauseMilliseconds: settings.failurePauseMilliseconds, metrics: metrics))
    }
    contents.withLock { $0.entries = entries }
  }

  private let retired = Atomic(false)

  /// Whether the configuration has no such upstream any more.
  var isRetired: Bool { retired.load(ordering: .relaxed) }

  /// The configuration has no such upstream any more: its servers are not watched and have no series. Requests that are under way there
  /// end as they would have.
  public func retire() {
    retired.store(true, ordering: .relaxed)
    for server in all { server.retire() }
  }

  /// Raised when servers join or leave.
  var version: Int { changes.load(ordering: .acquiring) }

  /// Every server there is now.
  var all: [ServerState] { contents.withLock { $0.all } }

  /// The names to look up.
  var names: [ServerName] {
    contents.withLock { contents in
      contents.entries.compactMap { if case .name(let name, _, _) = $0 { name } else { nil } }
    }
  }

  /// What a look-up of this server's name found last.
  private func addresses(of server: UpstreamSettings.Server) -> [SocketAddress] {
    contents.withLock { contents in
      for case .name(let name, let servers, _) in contents.entries where name.server.host == server.host && name.server.port == server.port
      {
        return servers.map(\.address)
      }
      return []
    }
  }

  /// Waits until there is a server, the names have been looked up in vain, or `deadline`.
  func waitForAny(on loop: EventLoop, until deadline: Instant) async {
    let signal = Signal(loop: loop)
    let mustWait = contents.withLock { contents in
      guard contents.awaitsLookUp, contents.all.isEmpty else { return false }
      contents.waiting[ObjectIdentifier(signal)] = RemoteSignal(signal, on: loop)
      return true
    }
    guard mustWait else { return }
    _ = await loop.wait(for: .signal(signal), until: deadline)
    contents.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(signal)) }
  }

  /// Takes what a look-up of `name` found over, and says which servers joined and left. Nothing found takes nothing away.
  func take(_ found: [SocketAddress], of name: ServerName) -> (joined: [ServerState], left: [ServerState]) {
    let (joined, left, waiting) = contents.withLock { contents in
      var joined: [ServerState] = []
      var left: [ServerState] = []
      for (index, entry) in contents.entries.enumerated() {
        guard case .name(let own, let before, _) = entry, own === name else { continue }
        let after = found.isEmpty ? before : merge(before, with: found.prefix(Self.addressesMax), of: name)
        contents.entries[index] = .name(name, after, wasLookedUp: true)
        joined = after.filter { server in !before.contains { $0 === server } }
        left = before.filter { server in !after.contains { $0 === server } }
      }
      let waiting = contents.waiting.values.map { $0 }
      contents.waiting = [:]
      return (joined, left, waiting)
    }
    if !joined.isEmpty || !left.isEmpty { changes.add(1, ordering: .releasing) }
    for server in left { server.retire() }
    for signal in waiting { signal.notify() }
    return (joined, left)
  }

  /// Servers keep what is known of them as long as their address is found, whatever the order of the answer.
  private func merge(_ before: [ServerState], with found: ArraySlice<SocketAddress>, of name: ServerName) -> [ServerState] {
    var after = before.filter { found.contains($0.address) }
    for address in found where !after.contains(where: { $0.address == address }) {
      after.append(
        ServerState(
          name.server, at: address, origin: name, pauseMilliseconds: settings.failurePauseMilliseconds, metrics: metrics,
          isRetired: isRetired))
    }
    return after
  }
}
