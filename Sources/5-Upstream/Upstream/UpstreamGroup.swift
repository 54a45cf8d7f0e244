import Bytes
public import EventLoop
public import Gate

/// One upstream of proxy.yaml, as one worker uses it: its servers' pools, the choice among them, and the only way to them.
public final class UpstreamGroup {
  /// What proxy.yaml says of it.
  public let settings: UpstreamSettings
  /// What is counted.
  public let metrics: UpstreamMetrics

  private let loop: EventLoop
  private let servers: UpstreamServers
  private let known: Guarded<KnownServers>
  private let slots: RequestSlots?
  /// Whether the worker goes on without it.
  private var isRetired = false

  /// The servers as this worker saw them last, and whose turn it is: what each request needs, behind one guard.
  private struct KnownServers {
    var pools: [ServerPool] = []
    var version = -1
    var choice: ServerChoice

    mutating func next(besides tried: [ServerPool], now: Instant) -> ServerPool? { choice.next(of: pools, besides: tried, now: now) }
  }

  /// An upstream without connections. `servers` are those of the whole process.
  public init(
    _ servers: UpstreamServers, share: WorkerShare = WorkerShare(number: 0, of: 1), loop: EventLoop, metrics: UpstreamMetrics
  ) {
    settings = servers.settings
    self.servers = servers
    self.loop = loop
    self.metrics = metrics
    slots = RequestSlots(settings, share: share, loop: loop, metrics: metrics)
    known = Guarded(KnownServers(choice: ServerChoice(settings.balance)))
    followServers()
  }

  /// Whether these are its servers.
  public func isOf(_ servers: UpstreamServers) -> Bool { self.servers === servers }

  /// The worker goes on without it: idle connections are closed now, those that are lent when they come back.
  public func retire() {
    isRetired = true
    for pool in known.value.pools { pool.retire() }
  }

  /// A place for one request, at once or after waiting for it in the queue. It is taken before the gate uses an assertion up, so that a
  /// request for which there is no place can be sent again as it is.
  public func takeSlot(for request: OutgoingRequest) async throws(UpstreamFailure) -> RequestSlot {
    guard let slots else { return .unlimited }
    return try await slots.take(for: request)
  }

  /// Sends a request that the gate admitted and that has its place, and returns the connection on which the answer comes.
  ///
  /// Returns when the answer's first bytes are there (what is not sent then waits in the connection's output, and may yet be wanted),
  /// or, if more of the body follows, when the head is about to be sent. What could not be sent at all is tried on the next server.
  /// A reused connection that dies before the answer's first byte is the one case in which a request is sent twice, and only an
  /// idempotent one (RFC 9110 section 9.2.2).
  public func forward(
    _ request: OutgoingRequest, admission: consuming Admission, slot: consuming RequestSlot
  ) async throws(UpstreamFailure) -> UpstreamConnection {
    var mayReuse = true
    // From here on the place is the connection's, so that it comes free with it; if there is none to be had, it ends here.
    var slot: RequestSlot? = consume slot
    while true {
      let connection = try await connection(for: request, mayReuse: mayReuse)
      if slots != nil { connection.slot = slot.take() }
      fill(connection, with: request, admission)
      if request.bodyFollows { return connection }
      do throws(UpstreamFailure) {
        try await sendAndAwaitAnswer(connection, request)
        return connection
      } catch {
        slot = connection.slot.take()
        discard(connection)
        guard error == .closedEarly, connection.isReused, request.isIdempotent else { throw error }
        mayReuse = false
      }
    }
  }

  /// Takes a connection back after its answer was read whole.
  public func giveBack(_ connection: UpstreamConnection, isReusable: Bool) {
    if slots != nil { connection.slot = nil }
    connection.server.giveBack(connection, isReusable: isReusable)
  }

  /// Closes a connection whose exchange went wrong.
  public func discard(_ connection: UpstreamConnection) {
    giveBack(connection, isReusable: false)
  }

  /// Closes idle connections whose time has come, and those to servers that left; called about once a second.
  public func sweep() {
    followServers()
    for pool in known.value.pools { pool.sweep() }
  }

  /// Closes every idle connection: the worker stops.
  public func closeIdle() {
    for pool in known.value.pools { pool.closeIdle() }
  }

  // MARK: Steps of forward

  private func connection(for request: OutgoingRequest, mayReuse: Bool) async throws(UpstreamFailure) -> UpstreamConnection {
    followServers()
    if known.value.pools.isEmpty { try await waitForServers(until: request.deadline) }
    var tried: [ServerPool] = []
    var failure: SocketFailure?
    let start = loop.now
    while let pool = known.value.next(besides: tried, now: loop.now) {
      request.serverName = pool.state.name
      if mayReuse, let connection = pool.takeIdle() { return connection }
      // Another worker was faster to try it; it counts as failed now.
      guard pool.mayConnect() else { continue }
      do throws(SocketFailure) {
        return try await pool.connect(until: request.deadline)
      } catch {
        failure = error
        if await isWorthWaiting(for: error, since: start) { continue }
        tried.append(pool)
      }
      if request.deadline <= loop.now { throw .timedOut }
    }
    guard let failure else { throw .unresolved }
    throw .unreachable(failure)
  }

  /// Takes over which servers there are, when that has changed.
  private func followServers() {
    let version = servers.version
    guard version != known.value.version else { return }
    let before = known.value.pools
    let after = servers.all.map { server in
      before.first { $0.state === server } ?? ServerPool(server, settings: settings, loop: loop, metrics: metrics)
    }
    known.value.pools = after
    known.value.version = version
    if isRetired { for pool in after { pool.retire() } }
    for pool in before where !after.contains(where: { $0 === pool }) { pool.retire() }
  }

  /// The first look-up of the names may take half of the time that a connection may.
  private func waitForServers(until limit: Instant) async throws(UpstreamFailure) {
    let patience = loop.now.advanced(byMilliseconds: settings.connectTimeoutMilliseconds / 2)
    await servers.waitForAny(on: loop, until: min(limit, patience))
    if limit <= loop.now { throw .timedOut }
    followServers()
  }

  /// When this process has no descriptors left, one may come free in a moment: other requests end, and nobody new is let in.
  private func isWorthWaiting(for failure: SocketFailure, since start: Instant) async -> Bool {
    guard case .failed(let error) = failure, KernelError.isShortage(error) else { return false }
    guard start.advanced(byMilliseconds: settings.connectTimeoutMilliseconds) > loop.now else { return false }
    await loop.sleep(until: loop.now.advanced(byMilliseconds: Self.shortagePauseMilliseconds))
    return true
  }

  private static let shortagePauseMilliseconds = 20

  private func fill(_ connection: UpstreamConnection, with request: OutgoingRequest, _ admission: borrowing Admission) {
    request.head.withReadable { connection.output.append($0) }
    if settings.host == .upstream {
      connection.output.append("Host: ")
      connection.output.append(connection.hostField)
      connection.output.append("\r\n")
    }
    admission.appendFields(to: &connection.output)
    connection.output.append("\r\n")
    request.body.withReadable { connection.output.append($0) }
  }

  /// Sends, and waits for the first bytes that come back: they may come before all is sent, and count even if the rest cannot be.
  private func sendAndAwaitAnswer(_ connection: UpstreamConnection, _ request: OutgoingRequest) async throws(UpstreamFailure) {
    let socket = connection.socket
    while true {
      let isBlocked = socket.write(from: &connection.output) == .wouldBlock
      let deadline = min(request.deadline, loop.now.advanced(byMilliseconds: settings.responseTimeoutMilliseconds))
      let outcome =
        isBlocked
        ? await loop.wait(for: .readable(socket), or: .hangUp(request.client), or: .writable(socket), until: deadline)
        : await loop.wait(for: .readable(socket), or: .hangUp(request.client), until: deadline)
      switch outcome {
      case .ready(0): break
      case .ready(1): throw .abandoned
      case .ready: continue
      case .timedOut: throw .timedOut
      }
      switch socket.read(into: &connection.input) {
      case .bytes: return
      case .wouldBlock: continue
      case .end, .failed: throw .closedEarly
      }
    }
  }
}
