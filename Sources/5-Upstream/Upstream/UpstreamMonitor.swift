public import EventLoop
import Telemetry

/// Watches the servers of all upstreams for all workers: looks names up anew, and makes the health checks. It has a loop of its own, so
/// that neither holds up a request, and a server is asked once whatever the number of workers.
public actor UpstreamMonitor {
  /// After a look-up that found nothing where nothing is known, and after an address did not serve.
  static let retryMilliseconds = 1_000

  /// The loop, which is the actor's executor.
  public nonisolated let loop: EventLoop
  /// The loop, as the language asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private var upstreams: [UpstreamServers] = []
  private let resolver: NameResolver

  /// A monitor of nothing, with its loop and threads: what the system may refuse is there before ``follow(_:)`` says what to watch.
  /// `resolver` should be its own: a look-up that hangs holds up those behind it.
  public init(resolver: NameResolver = NameResolver()) {
    loop = EventLoop()
    self.resolver = resolver
    loop.start(name: "upstreams")
  }

  /// Watches these upstreams from now on: looks their names up and makes the first checks; those that are watched already go on as they
  /// are.
  public func follow(_ upstreams: [UpstreamServers]) {
    for upstream in upstreams where !self.upstreams.contains(where: { $0 === upstream }) { watch(upstream) }
    self.upstreams = upstreams
  }

  private func watch(_ upstream: UpstreamServers) {
    for name in upstream.names { Task(executorPreference: loop) { await self.follow(name, of: upstream) } }
    for server in upstream.all { check(server, of: upstream) }
  }

  /// Whether any of these needs watching.
  public static func isNeeded(for upstreams: [UpstreamSettings]) -> Bool {
    upstreams.contains { upstream in upstream.health != nil || upstream.servers.contains { $0.address == nil } }
  }

  // MARK: Names

  private func follow(_ name: ServerName, of upstream: UpstreamServers) async {
    var isFailing = false
    repeat {
      let found = await resolver.resolve(host: name.server.host, port: name.server.port)
      let (joined, left) = upstream.take(found, of: name)
      // Requests that came before it was retired may have waited for the first look-up.
      guard !upstream.isRetired else { return }
      for server in joined { check(server, of: upstream) }
      let knowsNone = !upstream.all.contains { $0.origin === name }
      if found.isEmpty {
        upstream.metrics.countLookUpFailure()
        let remedy = knowsNone ? "it is asked for every second" : "those known before are used"
        if !isFailing { upstream.metrics.tell(.warning, "no address was found for \(name.server.name); \(remedy)") }
      } else if isFailing || !joined.isEmpty || !left.isEmpty {
        upstream.metrics.tell(.notice, "\(name.server.name) has the addresses \(found.map(\.host).joined(separator: ", "))")
      }
      isFailing = found.isEmpty
      await pause(name, milliseconds: knowsNone ? Self.retryMilliseconds : upstream.settings.resolveIntervalMilliseconds)
    } while !upstream.isRetired
  }

  /// Waits for the next look-up: no longer than about a second once an address did not serve.
  private func pause(_ name: ServerName, milliseconds: Int) async {
    let end = loop.now.advanced(byMilliseconds: milliseconds)
    repeat {
      await loop.sleep(until: min(end, loop.now.advanced(byMilliseconds: Self.retryMilliseconds)))
    } while loop.now < end && !name.takeDoubt()
  }

  // MARK: Health

  private func check(_ server: ServerState, of upstream: UpstreamServers) {
    guard let check = upstream.settings.health else { return }
    Task(executorPreference: loop) { await self.check(server, of: upstream, by: check) }
  }

  private func check(_ server: ServerState, of upstream: UpstreamServers, by check: HealthCheck) async {
    let probe = HealthProbe(check: check, connector: ServerConnector(server, upstream.settings.tls), host: check.host ?? server.hostField)
    while !server.isRetired {
      let next = loop.now.advanced(byMilliseconds: check.intervalMilliseconds)
      await probe.run(on: loop) { note($0, of: server, upstream, check) }
      await loop.sleep(until: next)
    }
  }

  private func note(_ result: HealthProbe.Result, of server: ServerState, _ upstream: UpstreamServers, _ check: HealthCheck) {
    switch result {
    case .passed:
      upstream.metrics.countCheck(passed: true)
      server.noteCheck(failure: nil, of: check)
    case .failed(let reason):
      upstream.metrics.countCheck(passed: false)
      server.noteCheck(failure: reason, of: check)
    case .unknown: break
    }
  }
}
