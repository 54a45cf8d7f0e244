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
  /// Of what all workers of a process would share.
  let processRegistry = MetricRegistry()
  /// The gate's end and the client's end of the client's connection.
  private(set) var client: (gate: Socket, own: Socket)!

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

  func servers(_ settings: UpstreamSettings, diagnostics: Diagnostics? = nil) -> UpstreamServers {
    UpstreamServers(settings, registry: processRegistry, diagnostics: diagnostics)
  }

  func group(_ settings: UpstreamSettings) -> UpstreamGroup { group(servers(settings)) }

  func group(_ servers: UpstreamServers) -> UpstreamGroup {
    UpstreamGroup(servers, loop: loop, metrics: UpstreamMetrics(registry: registry, upstream: "api"))
  }

  func pool(_ settings: UpstreamSettings) -> ServerPool { pool(of: servers(settings)) }

  /// One worker's pool of the first server.
  func pool(of servers: UpstreamServers) -> ServerPool {
    ServerPool(
      servers.all[0], settings: servers.settings, loop: loop, metrics: UpstreamMetrics(registry: registry, upstream: "api"))
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
    guard let admission = Admission.open(under: SharedPolicy(policy)) else { preconditionFailure("an open route was not admitted") }
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

  /// Connections to the upstream in this state.
  func gauge(_ state: String) -> Int64? {
    registry.value("attestgate_upstream_connections", [MetricLabel("state", state)]).map { Int64($0) }
  }

  /// What is shown of the upstream for the whole process.
  func value(_ family: String, _ labels: MetricLabel...) -> Double? { processRegistry.value(family, labels) }

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

extension MetricRegistry {
  /// The first series of this family that has these labels; nil when there is none.
  func value(_ family: String, _ labels: [MetricLabel]) -> Double? {
    for series in allSeries() where series.family.name == family && labels.allSatisfy(series.labels.contains) {
      switch series.instrument {
      case .counter(let counter): return Double(counter.value)
      case .gauge(let gauge): return Double(gauge.value)
      case .histogram: return nil
      }
    }
    return nil
  }
}
