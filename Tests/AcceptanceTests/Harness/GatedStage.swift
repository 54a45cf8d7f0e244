import AppAttest
import Fixtures
import Foundation
import SimulatedDevice
import Testing

/// A real Redis, a scripted upstream, and one or more gates between them that trust an authority made for the test.
final class GatedStage {
  static let shop = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")
  static let other = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.other")
  static let unlisted = AppIdentity(prefix: "ZZZZZ12345", bundleIdentifier: "com.example.unlisted")

  let redis: RedisServer
  let upstream: ScriptedUpstream
  let authority: SimulatedAuthority
  let gates: [GateProcess]
  private let folder: TemporaryFolder

  var gate: GateProcess { gates[0] }

  private init(gateCount: Int, redis options: RedisServer.Options, more: String, script: @escaping ScriptedUpstream.Script) throws {
    folder = try TemporaryFolder()
    redis = try RedisServer(options)
    authority = try SimulatedAuthority(at: Int(Date().timeIntervalSince1970))
    try folder.write(authority.root.pem, to: "root.pem")
    let upstream = try ScriptedUpstream(script)
    self.upstream = upstream
    let configuration = Self.configuration(upstream: upstream.port, redis: redis.url, root: folder.file("root.pem")) + more
    gates = try (0..<gateCount).map { _ in try GateProcess(configuration, workers: 2) }
  }

  /// What upstream, Redis and gates are started for, and ended after. `more` are further lines of proxy.yaml.
  static func run(
    gateCount: Int = 1, redis options: RedisServer.Options = .init(), more: String = "",
    script: @escaping ScriptedUpstream.Script = { try $0.answer("bought") }, _ body: (GatedStage) throws -> Void
  ) throws {
    let stage = try GatedStage(gateCount: gateCount, redis: options, more: more, script: script)
    defer {
      for gate in stage.gates { gate.process.kill() }
      stage.upstream.stop()
      stage.redis.kill()
    }
    try body(stage)
    for gate in stage.gates { #expect(gate.stop() == .exited(0), "the gate did not stop in order:\n\(gate.log)") }
    #expect(stage.upstream.malformed.isEmpty, "the gate sent what is no strict HTTP/1.1: \(stage.upstream.malformed)")
  }

  private static func configuration(upstream: UInt16, redis: String, root: String) -> String {
    """
    store: {redis: {url: "\(redis)", timeout: 1s}}
    apps:
      - {team_id: ABCDE12345, bundle_id: com.example.shop, environments: [simulated], trust_roots: ["\(root)"]}
      - {team_id: ABCDE12345, bundle_id: com.example.other, environments: [simulated], trust_roots: ["\(root)"]}
    upstreams: {api: {servers: ["http://127.0.0.1:\(upstream)"]}}
    routes:
      - {path: "/open/**", upstream: api, gate: off}
      - path: /body
        methods: [POST]
        upstream: api
        gate: {client_data: body, headers: {assertion: X-App-Assertion}, apps: [ABCDE12345.com.example.shop]}
      - {path: "/other/**", upstream: api, gate: {apps: [ABCDE12345.com.example.other]}}
      - {path: "/window/**", upstream: api, gate: {counter: {window: 64}}}
      - {path: "/monitor/**", upstream: api, gate: monitor}
      - {path: "/rated/**", upstream: api, rate: {key: 2/h}, gate: {apps: [ABCDE12345.com.example.shop]}}
      - {path: "/watched/**", upstream: api, rate: {address: 2/h, key: 20/h}, gate: monitor}
      - {path: "/lenient/**", upstream: api, gate: {on_store_failure: allow}}
      - {path: "/v1/**", upstream: api, gate: {apps: [ABCDE12345.com.example.shop]}}

    """
  }

  /// Waits until every worker of every gate has Redis.
  func waitForStore() throws {
    for gate in gates {
      guard try eventually({ try gate.metric("attestgate_store_up") == 2 }) else { throw FixtureFailure("no store:\n\(gate.log)") }
    }
  }

  /// An app that is installed on a fresh device.
  func app(_ style: AppClient.Style, identity: AppIdentity = GatedStage.shop, gate index: Int = 0) -> AppClient {
    AppClient(style, identity: identity, authority: authority, port: gates[index].port)
  }

  /// Requests that reached the API behind the gate.
  var bought: Int { upstream.requests.count }
}
