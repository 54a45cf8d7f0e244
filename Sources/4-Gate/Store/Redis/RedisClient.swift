import Bytes
import Cryptography
import EventLoop
import TLS

/// Keeps one connection to Redis: connects, introduces itself, reads what the gate must know, and does so again whenever it is lost.
final class RedisClient {
  /// Between two attempts; each waits between half and all of it. The longest keeps the promise to be back within a second of Redis.
  static let backoffMilliseconds = [50, 100, 200, 400, 800]
  /// A connection that lasted so long was a good one: the next attempt follows at once.
  private static let stableMilliseconds = 2_000
  /// Secrets are read anew so often without being asked.
  private static let refreshMilliseconds = 60_000
  /// And at most so often when a challenge names an unknown one.
  private static let demandMilliseconds = 1_000

  let settings: RedisSettings
  let loop: EventLoop
  private let resolver: NameResolver
  private let tlsClient: TLSClient?
  private let stopSignal: Signal
  private var isStopped = false
  private var attempt: RedisConnection?

  private var current: RedisSession?
  /// The last secrets that were read, and the run they belong to.
  private(set) var sealing: SealingSecrets?
  private(set) var health: StoreHealth
  var onHealthChange: ((StoreHealth) -> Void)?

  private var lastRefresh = Instant(nanoseconds: 0)
  private var isRefreshing = false
  private var refreshWaiters: [Signal] = []

  init(settings: RedisSettings, loop: EventLoop, resolver: NameResolver) {
    self.settings = settings
    self.loop = loop
    self.resolver = resolver
    if case .tcp(let host, _) = settings.endpoint, settings.usesTLS {
      tlsClient = settings.tls.map { TLSClient($0, name: host, offersHTTP: false) }
    } else {
      tlsClient = nil
    }
    stopSignal = Signal(loop: loop)
    health = StoreHealth(isUp: false, since: Instant.now)
  }

  /// The connection that takes commands. Throws why there is none.
  func session() throws(StoreFailure) -> RedisSession {
    if let current, current.connection.closeReason == nil { return current }
    let reason = current?.connection.closeReason ?? health.lastFailure ?? "not connected to Redis yet"
    throw StoreFailure(outcomeUnknown: false, reason: reason)
  }

  /// Connects, and connects again, until ``stop()``.
  func run() async {
    var failures = 0
    while !isStopped {
      let connectedAt = loop.now
      let reason = await serveOnce()
      current = nil
      attempt = nil
      publish(isUp: false, failure: reason, warnings: health.warnings)
      if connectedAt.advanced(byMilliseconds: Self.stableMilliseconds) < loop.now { failures = 0 }
      let longest = Self.backoffMilliseconds[min(failures, Self.backoffMilliseconds.count - 1)]
      failures += 1
      let delay = Int.random(in: longest / 2...longest)
      if !isStopped { _ = await loop.wait(for: .signal(stopSignal), until: loop.now.advanced(byMilliseconds: delay)) }
    }
  }

  /// Ends ``run()`` and fails whatever is in flight.
  func stop() {
    isStopped = true
    attempt?.close("the gate is stopping")
    stopSignal.notify()
  }

  /// One connection's life. Returns why it ended.
  private func serveOnce() async -> String {
    let connection: RedisConnection
    do throws(StoreFailure) {
      connection = RedisConnection(socket: try await connect(), settings: settings, loop: loop)
      attempt = connection
      guard !isStopped else { return "the gate is stopping" }
      let session = try await RedisHandshake(connection: connection, settings: settings, loop: loop).perform()
      connection.inFlightMax = settings.inFlightMax
      current = session
      sealing = session.sealing
      lastRefresh = loop.now
      publish(isUp: true, failure: nil, warnings: session.facts.warnings)
    } catch {
      attempt?.close(error.reason)
      return error.reason
    }
    while connection.closeReason == nil {
      await connection.pump(for: nil, until: lastRefresh.advanced(byMilliseconds: Self.refreshMilliseconds))
      if connection.closeReason == nil, !isRefreshing, lastRefresh.advanced(byMilliseconds: Self.refreshMilliseconds) <= loop.now {
        await refresh(pumping: connection)
      }
    }
    return connection.closeReason ?? ""
  }

  private func connect() async throws(StoreFailure) -> Socket {
    let addresses: [SocketAddress]
    let name: String
    switch settings.endpoint {
    case .unix(let path):
      name = path
      addresses = SocketAddress(unixPath: path).map { [$0] } ?? []
    case .tcp(let host, let port):
      name = "\(host):\(port)"
      addresses = await resolver.resolve(host: host, port: port)
    }
    var reason = "Redis at \(name): no such host"
    for address in addresses {
      do throws(SocketFailure) {
        let deadline = loop.now.advanced(byMilliseconds: settings.timeoutMilliseconds)
        guard settings.usesTLS else { return try await Socket.connect(to: address, on: loop, until: deadline) }
        guard let client = tlsClient else { throw .notSecured("whom to trust is not known") }
        return try await client.connect(to: address, on: loop, until: deadline)
      } catch {
        switch error {
        case .failed(let error): reason = "Redis at \(name) cannot be reached: \(KernelError.text(error))\(mend(of: error))"
        case .notSecured(let failure): reason = "Redis at \(name) cannot be reached over TLS: \(failure)"
        case .timedOut: reason = "Redis at \(name) did not accept the connection within \(settings.timeoutMilliseconds) ms"
        }
      }
    }
    throw StoreFailure(outcomeUnknown: false, reason: reason)
  }

  private func mend(of error: Int32) -> String {
    guard case .unix = settings.endpoint else { return "" }
    if KernelError.isDenied(error) { return " (the gate's user must be in the group of that socket, and unixsocketperm 770)" }
    return KernelError.isAbsent(error) ? " (Redis has a socket only where its configuration says unixsocket)" : ""
  }

  private func publish(isUp: Bool, failure: String?, warnings: [StoreWarning]) {
    var next = health
    if next.isUp != isUp {
      next.isUp = isUp
      next.since = loop.now
    }
    if let failure { next.lastFailure = failure }
    next.warnings = warnings
    guard next != health else { return }
    health = next
    onHealthChange?(next)
  }

  // MARK: Sealing secrets

  /// Reads the secrets anew, unless that was done within the last second. Whoever comes while they are being read waits for the same answer.
  func refreshSealing() async {
    if isRefreshing {
      let signal = Signal(loop: loop)
      refreshWaiters.append(signal)
      _ = await loop.wait(for: .signal(signal), until: .never)
      return
    }
    guard lastRefresh.advanced(byMilliseconds: Self.demandMilliseconds) <= loop.now else { return }
    await refresh(pumping: nil)
  }

  /// `pumping` is the connection whose replies the caller itself must hand out.
  private func refresh(pumping connection: RedisConnection?) async {
    lastRefresh = loop.now
    isRefreshing = true
    defer {
      isRefreshing = false
      for waiter in refreshWaiters { waiter.notify() }
      refreshWaiters.removeAll()
    }
    guard let session = try? session() else { return }
    let schedule = SecretSchedule(
      unixSeconds: WallClock.unixSeconds + session.facts.clockOffsetSeconds, challengeSecondsMax: settings.challengeSecondsMax)
    // Secrets that cannot be read now are no reason to give up those that are known.
    guard let exchange = try? SecretExchange(schedule, session.connection, prefix: session.prefix) else { return }
    if let connection { await connection.pump(for: exchange.last, until: .never) }
    guard let secrets = try? await exchange.secrets(on: loop), current?.connection === session.connection else { return }
    sealing = SealingSecrets(secrets: secrets, runTag: session.facts.runTag)
  }
}
