import Bytes
import EventLoop
import HTTP
import Telemetry

/// One server of an upstream, as one worker knows it: its idle connections, and whether it failed lately.
final class ServerPool {
  /// How long a server that could not be reached is passed over.
  var failurePauseMilliseconds = 10_000

  let name: String
  /// What its `Host` field says where the upstream is to see its own name.
  let hostField: String
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
  /// Whether the last attempt to connect failed.
  private var hasFailed = false
  private var failedUntil = Instant(nanoseconds: 0)

  init(
    _ server: UpstreamSettings.Server, settings: UpstreamSettings, loop: EventLoop, resolver: NameResolver, metrics: UpstreamMetrics
  ) {
    name = server.name
    hostField = server.authority
    self.server = server
    self.settings = settings
    self.loop = loop
    self.resolver = resolver
    self.metrics = metrics
  }

  /// Whether it is passed over now, because it failed lately or somebody is trying it again.
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

  /// A new connection to the first address that answers, made until `limit` or within the server's own time.
  func connect(until limit: Instant) async throws(SocketFailure) -> UpstreamConnection {
    let ownLimit = loop.now.advanced(byMilliseconds: settings.connectTimeoutMilliseconds)
    let deadline = min(limit, ownLimit)
    // The first to try a server that failed does so for all: the others pass it over meanwhile.
    if hasFailed { failedUntil = deadline }
    do throws(SocketFailure) {
      let socket = try await connectToAnyAddress(until: deadline)
      hasFailed = false
      failedUntil = Instant(nanoseconds: 0)
      metrics.active.add(1)
      return UpstreamConnection(socket: socket, server: self)
    } catch {
      // A route that is in a greater hurry than the upstream's settings says nothing about the server.
      if error != .timedOut || ownLimit <= limit { noteFailure(error) }
      throw error
    }
  }

  private func connectToAnyAddress(until deadline: Instant) async throws(SocketFailure) -> Socket {
    // A name server may take half of the time, and each address its share: one that swallows packets leaves time for the next.
    if let path = server.unixPath {
      guard let address = SocketAddress(unixPath: path) else { throw .failed(2) }  // ENOENT; the configuration has checked the path.
      return try await Socket.connect(to: address, on: loop, until: deadline)
    }
    let addresses = await resolver.addresses(of: server.host, port: server.port, on: loop, until: share(of: deadline, among: 2))
    var failure = SocketFailure.failed(113)  // EHOSTUNREACH: the name has no address.
    for (index, address) in addresses.enumerated() {
      do throws(SocketFailure) {
        return try await Socket.connect(to: address, on: loop, until: share(of: deadline, among: addresses.count - index))
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private func share(of deadline: Instant, among parts: Int) -> Instant {
    guard deadline > loop.now else { return deadline }
    return loop.now.advanced(byNanoseconds: (deadline.nanoseconds - loop.now.nanoseconds) / UInt64(parts))
  }

  private func noteFailure(_ failure: SocketFailure) {
    metrics.connectFailures.add()
    // Our own shortage says nothing about the server.
    if case .failed(let error) = failure, KernelError.isShortage(error) { return }
    hasFailed = true
    failedUntil = loop.now.advanced(byMilliseconds: failurePauseMilliseconds)
    resolver.distrust(host: server.host, port: server.port)
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
