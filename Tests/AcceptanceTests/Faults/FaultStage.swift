import AppAttest
import Fixtures
import Foundation
import Glibc
import SimulatedDevice
import Synchronization
import Testing

/// Redis, an upstream and a gate of which each can be killed and started again in its place, and the upstream's record of what reached it.
final class FaultStage: Sendable {
  let redis: RedisServer
  let gate: GateProcess
  private let folder: TemporaryFolder
  private let upstreamPort: UInt16
  private let upstream: Mutex<ScriptedUpstream?>
  private let restarted = Mutex<ChildProcess?>(nil)
  private let tokens = Ledger()

  /// How late the upstream of `/slow` answers; the gate waits for half a second.
  static let slowMilliseconds = 1_000

  /// How often each token reached the upstream.
  private final class Ledger: Sendable {
    let counts = Mutex([String: Int]())
    let malformed = Mutex([String]())
  }

  private init(redis options: RedisServer.Options) throws {
    folder = try TemporaryFolder()
    redis = try RedisServer(options)
    upstreamPort = try FreePort.next()
    upstream = Mutex(try Self.makeUpstream(port: upstreamPort, tokens))
    try folder.write(Self.authority().root.pem, to: "root.pem")
    gate = try GateProcess(Self.configuration(upstream: upstreamPort, redis: redis.url, root: folder.file("root.pem")), workers: 2)
  }

  /// What Redis, upstream and gate are started for, and ended after.
  static func run(redis options: RedisServer.Options = .init(), _ body: (FaultStage) throws -> Void) throws {
    let stage = try FaultStage(redis: options)
    defer {
      stage.process.kill()
      stage.killUpstream()
      stage.redis.kill()
    }
    try body(stage)
    stage.process.signal(SIGTERM)
    #expect(stage.process.wait(milliseconds: 30_000) == .exited(0), "the gate did not stop in order:\n\(stage.gate.log)")
    #expect(!stage.gate.log.contains("crashed"), "\(stage.gate.log)")
    stage.killUpstream()
    #expect(stage.tokens.malformed.withLock { $0 }.isEmpty, "the gate sent what is no strict HTTP/1.1")
  }

  private static func configuration(upstream: UInt16, redis: String, root: String) -> String {
    """
    store: {redis: {url: "\(redis)", timeout: 1s}}
    apps: [{team_id: ABCDE12345, bundle_id: com.example.shop, environments: [simulated], trust_roots: ["\(root)"]}]
    endpoints: {rate: off}
    upstreams: {api: {servers: ["http://127.0.0.1:\(upstream)"]}}
    routes:
      - {path: "/open/**", upstream: api, gate: off}
      - {path: /body, methods: [POST], upstream: api, gate: {client_data: body, headers: {assertion: X-App-Assertion}}}
      - {path: "/slow/**", upstream: api, timeout: 500ms}
      - {path: "/v1/**", upstream: api}

    """
  }

  // MARK: The load

  /// The authority that every device here was attested by.
  private static let authorityKept = Mutex<Kept?>(nil)
  private final class Kept: @unchecked Sendable {
    let authority: SimulatedAuthority
    init(_ authority: SimulatedAuthority) { self.authority = authority }
  }
  private static func authority() throws -> SimulatedAuthority {
    try authorityKept.withLock { kept in
      if let kept { return kept.authority }
      let made = Kept(try SimulatedAuthority(at: Int(Date().timeIntervalSince1970)))
      kept = made
      return made.authority
    }
  }

  /// Clients of all kinds that are served while nothing is broken, and of those besides.
  static let errands: [LoadClient.Errand] = [.signed(.named), .signed(.unnamed), .signed(.bodyOnly), .open, .open]

  /// Enrols devices and lets them go.
  func load(_ errands: [LoadClient.Errand] = FaultStage.errands) throws -> FaultLoad {
    let account = LoadAccount()
    let clients = try errands.enumerated().map { number, errand in
      let app = try Self.style(of: errand).map { style in
        AppClient(style, identity: GatedStage.shop, authority: try Self.authority(), port: gate.port)
      }
      try app?.enrol()
      return LoadClient(.init(errand: errand, number: number), app: app, port: gate.port, account: account)
    }
    return FaultLoad(clients, account, stage: self)
  }

  private static func style(of errand: LoadClient.Errand) -> AppClient.Style? {
    switch errand {
    case .open: nil
    case .signed(let style): style
    case .large, .slow: .named
    }
  }

  // MARK: The upstream

  /// What the upstream says to a token.
  static func echo(of token: String) -> String { "you sent \(token)" }

  /// How often each token reached the upstream.
  var ledger: [String: Int] { tokens.counts.withLock { $0 } }

  /// Stops listening and ends every connection, as the kernel does for a process that was killed.
  func killUpstream() {
    guard let upstream = upstream.withLock({ $0.take() }) else { return }
    upstream.stop()
    tokens.malformed.withLock { $0 += upstream.malformed }
  }

  /// Listens again, on the same port.
  func startUpstream() throws {
    let started = try Self.makeUpstream(port: upstreamPort, tokens)
    upstream.withLock { $0 = started }
  }

  private static func makeUpstream(port: UInt16, _ tokens: Ledger) throws -> ScriptedUpstream {
    try ScriptedUpstream(port: port) { exchange in
      let body = try String(decoding: exchange.readBody().prefix { $0 != 0x0A }, as: UTF8.self)
      let token = exchange.request.method == "GET" ? String(exchange.target.dropFirst("/open/".count)) : body
      tokens.counts.withLock { $0[token, default: 0] += 1 }
      if exchange.target.hasPrefix("/slow") { usleep(UInt32(slowMilliseconds) * 1_000) }
      try exchange.answer(echo(of: token))
    }
  }

  // MARK: The gate

  /// The gate's process: the one that was started last.
  var process: ChildProcess { restarted.withLock { $0 } ?? gate.process }

  /// Starts the gate again after it was killed, with what it had.
  func startGate() throws {
    let folder = gate.folder
    let process = try ChildProcess(
      [GateProcess.binary, "serve", "--config", folder.file("proxy.yaml")], output: folder.file("output"), errors: folder.file("errors"))
    restarted.withLock { $0 = process }
  }

  /// Sets a limit of the running gate, as `prlimit` spells it, such as `--nofile=20:`.
  func limit(_ limit: String) throws {
    let run = try CommandRun(["prlimit", "--pid", "\(process.identifier)", limit])
    guard run.succeeded else { throw FixtureFailure("prlimit: \(run.errors)") }
  }
}
