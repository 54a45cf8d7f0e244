import Bytes
import EventLoop
import Fixtures
import Gate
import Telemetry
import Testing

@testable import Upstream

/// An actor on a loop of its own, as the gate's workers are, with a client's connection whose requests it forwards.
actor UpstreamStage {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  let registry = MetricRegistry()
  let resolver = NameResolver()
  /// The gate's end and the client's end of the client's connection.
  private(set) var client: (gate: Socket, own: Socket)!
  var trial: ServerPool?

  private init(_ loop: EventLoop) { self.loop = loop }

  /// Runs `body` as a task of a fresh loop, and stops the loop.
  static func run(_ body: @escaping @Sendable (isolated UpstreamStage) async throws -> Void) async throws {
    let loop = EventLoop()
    loop.start(name: "test")
    defer { loop.stop() }
    let stage = UpstreamStage(loop)
    try await Task(executorPreference: loop) { try await stage.play(body) }.value
  }

  private func play(_ body: @Sendable (isolated UpstreamStage) async throws -> Void) async throws {
    let listener = try ListeningSocket(SocketAddress(host: "127.0.0.1", port: 0)!)
    let acceptor = Acceptor(listener, loop: loop)
    let own = try await Socket.connect(to: listener.address, on: loop, until: soon)
    _ = await loop.wait(for: .readable(acceptor), until: soon)
    guard case .connection(let gate) = acceptor.accept() else { throw FixtureFailure("no client") }
    acceptor.close()
    client = (gate, own)
    defer {
      gate.close()
      own.close()
    }
    try await body(self)
  }

  var soon: Instant { loop.now.advanced(byMilliseconds: 20_000) }

  func settings(_ ports: UInt16...) -> UpstreamSettings {
    UpstreamSettings(name: "api", servers: ports.map { UpstreamSettings.Server(host: "127.0.0.1", port: $0) })
  }

  func group(_ settings: UpstreamSettings) -> UpstreamGroup {
    UpstreamGroup(settings: settings, loop: loop, resolver: resolver, metrics: UpstreamMetrics(registry: registry, upstream: "api"))
  }

  func pool(_ settings: UpstreamSettings) -> ServerPool {
    ServerPool(
      settings.servers[0], settings: settings, loop: loop, resolver: resolver,
      metrics: UpstreamMetrics(registry: registry, upstream: "api"))
  }

  /// A request without a body.
  func request(_ method: String = "GET", _ target: String = "/", isIdempotent: Bool = true) -> OutgoingRequest {
    let request = OutgoingRequest(client: client.gate)
    request.head.append("\(method) \(target) HTTP/1.1\r\nHost: a\r\n")
    request.isIdempotent = isIdempotent
    return request
  }

  /// The gate's word for a route without a gate.
  func admission() -> Admission {
    var policy = GatePolicy()
    policy.mode = .off
    guard let admission = Admission.open(under: policy) else { preconditionFailure("an open route was not admitted") }
    return admission
  }

  /// Forwards and gives the connection back: what came of the answer, or why none did.
  @discardableResult
  func exchange(_ group: UpstreamGroup, _ request: OutgoingRequest) async -> String {
    do throws(UpstreamFailure) {
      let connection = try await group.forward(request, admission: admission())
      await readRest(of: connection)
      let answer = String(decoding: connection.input.copied(), as: UTF8.self)
      connection.input.removeAll()
      group.giveBack(connection, isReusable: true)
      return answer
    } catch {
      return "\(error)"
    }
  }

  /// Reads what follows a 200: every upstream here says hello.
  private func readRest(of connection: UpstreamConnection) async {
    while true {
      let input = connection.input.copied()
      if !input.starts(with: "HTTP/1.1 200".utf8) || input.suffix(5).elementsEqual("hello".utf8) { return }
      guard await loop.wait(for: .readable(connection.socket), until: soon) else { return }
      switch connection.socket.read(into: &connection.input) {
      case .bytes, .wouldBlock: continue
      case .end, .failed: return
      }
    }
  }

  /// Looks every millisecond whether `condition` holds; false when it does not within twenty seconds.
  func holds(_ condition: () -> Bool) async -> Bool {
    let limit = soon
    while !condition() {
      if limit < loop.now { return false }
      await loop.sleep(until: loop.now.advanced(byMilliseconds: 1))
    }
    return true
  }

  /// What is counted for the upstream.
  func gauge(_ state: String) -> Int64? {
    for series in registry.allSeries() where series.labels.contains(MetricLabel("state", state)) {
      if case .gauge(let gauge) = series.instrument { return gauge.value }
    }
    return nil
  }

  /// Resets the client's connection as soon as the task that runs now waits.
  func resetClientSoon() { Task(executorPreference: loop) { await self.resetClient() } }

  private func resetClient() {
    client.own.resetOnClose()
    client.own.close()
  }

  /// The failure that connecting ends with.
  func connectFailure(_ pool: ServerPool, until deadline: Instant = .never) async -> SocketFailure? {
    do throws(SocketFailure) {
      pool.giveBack(try await pool.connect(until: deadline), isReusable: false)
      return nil
    } catch {
      return error
    }
  }

  /// The failure that forwarding ends with.
  func failure(_ group: UpstreamGroup, _ request: OutgoingRequest) async -> UpstreamFailure? {
    do throws(UpstreamFailure) {
      group.giveBack(try await group.forward(request, admission: admission()), isReusable: true)
      return nil
    } catch {
      return error
    }
  }
}

extension UpstreamGroup {
  /// Takes a place and forwards.
  func forward(_ request: OutgoingRequest, admission: consuming Admission) async throws(UpstreamFailure) -> UpstreamConnection {
    let slot = try await takeSlot(for: request)
    return try await forward(request, admission: admission, slot: slot)
  }
}
