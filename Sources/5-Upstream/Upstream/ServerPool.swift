import Bytes
import EventLoop
import HTTP
import Telemetry

/// One server of an upstream, as one worker uses it: its idle connections, and how many are lent.
final class ServerPool {
  /// How long a connection rests whose last answer announced a body that must not come.
  static let restMilliseconds = 250

  /// What all workers know of it.
  let state: ServerState
  private let settings: UpstreamSettings
  private let loop: EventLoop
  private let metrics: UpstreamMetrics

  /// What changes with every request, behind one guard.
  private struct Lending {
    var idle: [UpstreamConnection] = []
    var requestCount = 0
    /// Whether the server is none of the upstream's any more: what is lent ends with its exchange.
    var isRetired = false
  }

  private let connector: ServerConnector
  private let lending = Guarded(Lending())
  private var idle: [UpstreamConnection] {
    _read { yield lending.value.idle }
    _modify { yield &lending.value.idle }
  }

  /// Requests of this worker's that are under way there, or about to be.
  var requestCount: Int { lending.value.requestCount }

  init(_ state: ServerState, settings: UpstreamSettings, loop: EventLoop, metrics: UpstreamMetrics) {
    self.state = state
    self.settings = settings
    connector = ServerConnector(state, settings.tls)
    self.loop = loop
    self.metrics = metrics
  }

  /// An idle connection that is still whole; the one used last, since the server has had the least time to close it.
  func takeIdle() -> UpstreamConnection? {
    let now = loop.now
    var resting: [UpstreamConnection] = []
    defer { if !resting.isEmpty { idle.append(contentsOf: resting.reversed()) } }
    while let connection = idle.popLast() {
      if connection.rests(at: now) && connection.isClean {
        resting.append(connection)
        continue
      }
      metrics.idle.add(-1)
      if connection.isClean && connection.idleSince.advanced(byMilliseconds: settings.poolIdleTimeoutMilliseconds) > now {
        connection.markReused()
        lend()
        return connection
      }
      connection.socket.close()
    }
    return nil
  }

  private func lend() {
    lending.value.requestCount += 1
    metrics.active.add(1)
  }

  /// Whether a new connection may be made by who chose this server: when it could not be reached, one alone tries it again, and when
  /// there is no other, everybody does.
  func mayConnect() -> Bool {
    !state.isAvailable(at: loop.now)
      || state.claimTrial(now: loop.now, until: loop.now.advanced(byMilliseconds: settings.connectTimeoutMilliseconds))
  }

  /// A new connection, made until `limit` or within the server's own time.
  func connect(until limit: Instant) async throws(SocketFailure) -> UpstreamConnection {
    let ownLimit = loop.now.advanced(byMilliseconds: settings.connectTimeoutMilliseconds)
    // One that is being connected counts already: others should not run to the same server meanwhile.
    lending.value.requestCount += 1
    defer { lending.value.requestCount -= 1 }
    do throws(SocketFailure) {
      let socket = try await connector.connect(on: loop, until: min(limit, ownLimit))
      state.noteReached()
      lend()
      return UpstreamConnection(socket: socket, server: self)
    } catch {
      // A route that is in a greater hurry than the upstream's settings says nothing about the server.
      if error != .timedOut || ownLimit <= limit { noteFailure(error) }
      throw error
    }
  }

  private func noteFailure(_ failure: SocketFailure) {
    metrics.connectFailures.add()
    // Our own shortage says nothing about the server.
    if case .failed(let error) = failure, KernelError.isShortage(error) { return }
    state.noteUnreachable(failure.reason, now: loop.now)
  }

  /// Takes a connection back; one that cannot serve again is closed.
  func giveBack(_ connection: UpstreamConnection, isReusable: Bool) {
    lending.value.requestCount -= 1
    metrics.active.add(-1)
    guard isReusable, !lending.value.isRetired, connection.isClean, idle.count < settings.poolIdleMax else {
      return connection.socket.close()
    }
    // A server that errs sends the body that its answer announced, and the next exchange would take it for its own answer. Once it has
    // rested, the body has come and shows.
    let restMilliseconds = connection.answer.announcesAbsentBody ? Self.restMilliseconds : 0
    connection.idleSince = loop.now.advanced(byMilliseconds: restMilliseconds)
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

  /// The server is none of the upstream's any more: its idle connections are closed now, those that are lent when they come back.
  func retire() {
    lending.value.isRetired = true
    closeIdle()
  }

  /// Closes every idle connection.
  func closeIdle() {
    for connection in idle { connection.socket.close() }
    metrics.idle.add(-Int64(idle.count))
    idle = []
  }
}
