import Bytes
import EventLoop
import HTTP
import Telemetry

/// One server of an upstream, as one worker knows it: its addresses, its idle connections, and whether it failed lately.
final class ServerPool {
  /// How long a server that could not be reached is passed over.
  static let failurePauseMilliseconds = 10_000
  /// How long looked-up addresses are used.
  static let addressesMilliseconds = 30_000

  let name: String
  private let server: UpstreamSettings.Server
  private let settings: UpstreamSettings
  private let loop: EventLoop
  private let resolver: NameResolver
  private let metrics: UpstreamMetrics

  private let guardedIdle = Guarded([UpstreamConnection]())
  private var idle: [UpstreamConnection] {
    _read { yield guardedIdle.value }
    _modify { yield &guardedIdle.value }
  }
  private var addresses: [SocketAddress] = []
  private var addressesUntil = Instant(nanoseconds: 0)
  private var failedUntil = Instant(nanoseconds: 0)

  init(
    _ server: UpstreamSettings.Server, settings: UpstreamSettings, loop: EventLoop, resolver: NameResolver, metrics: UpstreamMetrics
  ) {
    name = server.authority
    self.server = server
    self.settings = settings
    self.loop = loop
    self.resolver = resolver
    self.metrics = metrics
  }

  var isFailed: Bool { failedUntil > loop.now }

  /// An idle connection that is still whole; the one used last, since the server has had the least time to close it.
  func takeIdle() -> UpstreamConnection? {
    while let connection = idle.popLast() {
      metrics.idle.add(-1)
      if connection.isClean && connection.idleSince.advanced(byMilliseconds: settings.poolIdleTimeoutMilliseconds) > loop.now {
        connection.markReused()
        metrics.active.add(1)
        return connection
      }
      connection.socket.close()
    }
    return nil
  }

  /// A new connection to the first address that answers.
  func connect() async throws(SocketFailure) -> UpstreamConnection {
    let deadline = loop.now.advanced(byMilliseconds: settings.connectTimeoutMilliseconds)
    var failure = SocketFailure.failed(113)  // EHOSTUNREACH: the name has no address.
    for address in await currentAddresses() {
      do throws(SocketFailure) {
        let socket = try await Socket.connect(to: address, on: loop, until: deadline)
        failedUntil = Instant(nanoseconds: 0)
        metrics.active.add(1)
        return UpstreamConnection(socket: socket, server: self)
      } catch {
        failure = error
      }
    }
    noteFailure(failure)
    throw failure
  }

  private func currentAddresses() async -> [SocketAddress] {
    if addresses.isEmpty || addressesUntil <= loop.now {
      let found = await resolver.resolve(host: server.host, port: server.port)
      // A resolver that fails for a moment does not take away what worked until now.
      if !found.isEmpty { addresses = found }
      addressesUntil = loop.now.advanced(byMilliseconds: Self.addressesMilliseconds)
    }
    return addresses
  }

  private func noteFailure(_ failure: SocketFailure) {
    // EMFILE, ENFILE, ENOBUFS, ENOMEM: our own shortage says nothing about the server.
    if case .failed(let error) = failure, [24, 23, 105, 12].contains(error) { return }
    failedUntil = loop.now.advanced(byMilliseconds: Self.failurePauseMilliseconds)
    addressesUntil = Instant(nanoseconds: 0)
    metrics.connectFailures.add()
  }

  /// Takes a connection back; one that cannot serve again is closed.
  func giveBack(_ connection: UpstreamConnection, isReusable: Bool) {
    metrics.active.add(-1)
    guard isReusable, connection.isClean, idle.count < settings.poolIdleMax else { return connection.socket.close() }
    connection.idleSince = loop.now
    idle.append(connection)
    metrics.idle.add(1)
  }

  /// Closes idle connections that the server closed or that are idle for too long.
  func sweep() {
    idle.removeAll { connection in
      if connection.idleSince < loop.now { connection.releaseStorage() }
      let isExpired = connection.idleSince.advanced(byMilliseconds: settings.poolIdleTimeoutMilliseconds) <= loop.now
      guard isExpired || !connection.isClean else { return false }
      connection.socket.close()
      metrics.idle.add(-1)
      return true
    }
  }

  func closeIdle() {
    for connection in idle { connection.socket.close() }
    metrics.idle.add(-Int64(idle.count))
    idle = []
  }
}
