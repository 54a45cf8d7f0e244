import AppAttest
import Configuration
import Exchange
import Fixtures
import Foundation
import Gate
import Routing
import Store
import Testing
import Upstream

@Suite struct MeaningTests {
  @Test func whatIsLeftOutHasTheDefaultsOfTheContract() throws {
    let configuration = try load(sound())
    #expect(configuration.workerCount == 3)
    #expect(configuration.listeners.map(\.bind) == [BindAddress(host: "127.0.0.1", port: 8080)])
    #expect(configuration.admin == nil)
    #expect(configuration.drainDelayMilliseconds == 0 && configuration.drainTimeoutMilliseconds == 30_000)
    #expect(configuration.accessLog == .standardOutput)
    #expect(configuration.store == .memory)
    #expect(configuration.assertionChallengeSeconds == 300 && configuration.attestationChallengeSeconds == 900)
    #expect(configuration.endpoints == EndpointSettings())
    #expect(configuration.apps.map(\.identity) == [AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")])
    #expect(configuration.apps[0].environments == [.production])
    #expect(configuration.apps[0].trustRoots == [AppleRoots.appAttestation])
    let route = configuration.routes[0]
    #expect(route.pattern.isGated && route.pattern.methods.isEmpty && route.pattern.host == nil && route.timeoutMilliseconds == nil)
    #expect(route.policy.mode == .enforce && route.policy.binding == [.method, .path, .body] && route.policy.bindsQuery)
    #expect(route.policy.apps == ["ABCDE12345.com.example.shop": [.production]])
    #expect(route.policy.counter == .strict && route.policy.bodyBytesMax == 1 << 20 && route.policy.bodyMemoryBytes == 64 << 10)
    #expect(configuration.warnings == [])
  }

  @Test func everyKeyOfTheFirstIssueIsTaken() throws {
    let folder = try folderWithRoot()
    let text = """
      workers: auto
      listeners:
        - bind: "[::1]:8443"
          underscore_headers: keep
          limits: {head_bytes: 16KiB, request_line_bytes: 4KB, header_count: 50}
          head_timeout: 1s
          body_timeout: 2s
          idle_timeout: 3m
          write_timeout: 1h
      admin: {}
      drain_delay: 5s
      drain_timeout: 250ms
      access_log: ./access.log
      store:
        redis: {url: "redis://127.0.0.1:6380/3", prefix: "p:", timeout: 2s, user: u, password: p, max_in_flight: 7}
      apps:
        - team_id: ABCDE12345
          app_id_prefix: PREFIX0001
          bundle_id: com.example.shop
          environments: [development, simulated]
          trust_roots: [apple, root.pem]
      challenges: {assert_ttl: 1m, attest_ttl: 1h}
      endpoints: {attest_challenge: /a/c/, attest_verify: /%61/v, assert_challenge: /b/c, enrol: false}
      upstreams:
        shop:
          servers: ["http://shop.internal", "http://[fd00::7]:9000"]
          connect_timeout: 1s
          response_timeout: 2s
          idle_timeout: 3s
          pool: {idle: 5, idle_timeout: 6s}
          host: shop.example.com
          request_headers: {set: {X-A: b}, remove: [X-C]}
          response_headers: {set: {X-D: e}, remove: [Server]}
      routes:
        - host: API.example.com
          path: /v1/**
          methods: [GET, POST]
          upstream: shop
          timeout: 9s
          allow_in_path: [encoded_slash, encoded_backslash, encoded_percent, semicolon, encoded_delimiter]
          gate:
            mode: monitor
            apps: [PREFIX0001.com.example.shop]
            environments: [simulated]
            bind: [method, host]
            query: unbound
            path_form: encoded
            client_data: json
            key_id: required
            counter: {window: 1024}
            max_body: 2MiB
            body_memory: 1KiB
            on_store_failure: allow
            headers: {assertion: X-A, client_data: X-B, key_id: X-C}
            keep_headers: true
            cache: keep
        - path: /hook
          methods: [POST]
          upstream: shop
          gate: {client_data: body, counter: strict, headers: {assertion: X-App-Assertion}}
      """
    let configuration = try load(text, file: folder.file("proxy.yaml"))
    let listener = configuration.listeners[0]
    #expect(listener.bind == BindAddress(host: "::1", port: 8443) && listener.underscoreFields == .keep)
    #expect(listener.headBytesMax == 16 << 10 && listener.requestLineBytesMax == 4_000 && listener.fieldCountMax == 50)
    #expect(listener.headTimeoutMilliseconds == 1_000 && listener.bodyTimeoutMilliseconds == 2_000)
    #expect(listener.idleTimeoutMilliseconds == 180_000 && listener.writeTimeoutMilliseconds == 3_600_000)
    #expect(configuration.admin == BindAddress(host: "127.0.0.1", port: 9901))
    #expect(configuration.drainDelayMilliseconds == 5_000 && configuration.drainTimeoutMilliseconds == 250)
    #expect(configuration.accessLog == .file(folder.file("./access.log")))
    var redis = RedisSettings(endpoint: .tcp(host: "127.0.0.1", port: 6380))
    redis.database = 3
    redis.prefix = "p:"
    redis.timeoutMilliseconds = 2_000
    redis.user = "u"
    redis.password = "p"
    redis.inFlightMax = 7
    redis.challengeSecondsMax = 3_600
    #expect(configuration.store == .redis(redis))
    #expect(configuration.apps[0].identity.description == "PREFIX0001.com.example.shop")
    #expect(configuration.apps[0].environments == [.development, .simulated] && configuration.apps[0].trustRoots.count == 2)
    #expect(configuration.assertionChallengeSeconds == 60 && configuration.attestationChallengeSeconds == 3_600)
    let endpoints = configuration.endpoints
    #expect(
      [endpoints.attestChallenge, endpoints.attestVerify, endpoints.assertChallenge] == ["/a/c", "/a/v", "/b/c"] && !endpoints.enrols)
    checkUpstream(configuration.upstreams[0])
    checkRoutes(configuration.routes)
  }

  func checkUpstream(_ upstream: UpstreamSettings) {
    #expect(upstream.servers == [.init(host: "shop.internal", port: 80), .init(host: "fd00::7", port: 9000)])
    #expect(upstream.connectTimeoutMilliseconds == 1_000 && upstream.responseTimeoutMilliseconds == 2_000)
    #expect(upstream.idleTimeoutMilliseconds == 3_000 && upstream.poolIdleMax == 5 && upstream.poolIdleTimeoutMilliseconds == 6_000)
    #expect(upstream.host == .literal("shop.example.com"))
    #expect(upstream.requestFieldsSet == [.init(name: "X-A", value: "b")] && upstream.requestFieldsRemoved == ["x-c"])
    #expect(upstream.responseFieldsSet == [.init(name: "X-D", value: "e")] && upstream.responseFieldsRemoved == ["server"])
  }

  func checkRoutes(_ routes: [RouteSettings]) {
    #expect(routes[0].label == "api.example.com/v1/**" && routes[0].timeoutMilliseconds == 9_000 && routes[0].upstream == 0)
    #expect(routes[0].pattern.allowedInPath.names.count == 5 && routes[0].pattern.methods == ["GET", "POST"])
    let policy = routes[0].policy
    #expect(policy.mode == .monitor && policy.apps == ["PREFIX0001.com.example.shop": [.simulated]])
    #expect(policy.binding == [.method, .host] && !policy.bindsQuery && policy.pathForm == .encoded && policy.clientData == .json)
    #expect(policy.requiresKeyID && policy.counter == .window(1_024) && policy.bodyBytesMax == 2 << 20 && policy.bodyMemoryBytes == 1 << 10)
    #expect(policy.admitsOnStoreFailure && policy.keepsInputFields && !policy.marksAnswersPrivate)
    #expect([policy.inputs.assertion, policy.inputs.clientData, policy.inputs.keyID] == ["x-a", "x-b", "x-c"])
    let body = routes[1].policy
    #expect(body.clientData == .body && body.binding == [] && body.bodyBytesMax == 64 << 10 && body.bodyMemoryBytes == 64 << 10)
    #expect(body.inputs.assertion == "x-app-assertion" && body.inputs.keyID == "x-app-attest-key-id")
  }

  @Test(arguments: ["enforce", "monitor", "off"])
  func aLoneWordStandsForTheMode(word: String) throws {
    let policy = try load(sound("routes: [{path: /a, upstream: orders, gate: \(word)}]")).routes[0].policy
    #expect(policy.mode.rawValue == word)
    #expect(try load(sound("routes: [{path: /a, upstream: orders, gate: {mode: \(word)}}]")).routes[0].pattern.isGated == (word != "off"))
  }

  @Test func aUnixSocketLeadsToRedis() throws {
    let store = try load(sound("store: {redis: {url: \"unix:/run/redis.sock?db=2\"}}")).store
    guard case .redis(let settings) = store else { return #expect(Bool(false), "no Redis") }
    #expect(settings.endpoint == .unix(path: "/run/redis.sock") && settings.database == 2)
  }

  /// The sample of the documentation, without what needs TLS or comes with a later release.
  @Test func theDocumentedSampleLoads() throws {
    let text = """
      listeners:
        - bind: 0.0.0.0:8443
      admin: {bind: 127.0.0.1:9901}
      store:
        redis: {url: "redis://127.0.0.1:6379/0"}
      apps:
        - team_id: ABCDE12345
          bundle_id: com.example.shop
          environments: [production]
      upstreams:
        shop:
          servers: ["http://10.0.0.7:9000"]
          request_headers: {set: {Authorization: "Bearer ${SHOP_TOKEN}"}}
      routes:
        - {path: /health, methods: [GET], upstream: shop, gate: off}
        - host: api.example.com
          path: /v1/**
          upstream: shop
          gate: {mode: enforce, apps: [ABCDE12345.com.example.shop], counter: {window: 64}}
      """
    let configuration = try load(text, variables: ["SHOP_TOKEN": "t"])
    #expect(configuration.routes.map(\.label) == ["/health", "api.example.com/v1/**"])
    #expect(configuration.upstreams[0].requestFieldsSet == [.init(name: "Authorization", value: "Bearer t")])
    #expect(configuration.warnings.map(\.line) == [2])
  }
}

@Suite struct ExampleTests {
  /// The repository's own proxy.yaml.
  static let example = try! String(
    contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../proxy.yaml"), encoding: .utf8)

  func folderWithExample() throws -> TemporaryFolder {
    let folder = try folderWithRoot()
    try FileManager.default.createDirectory(atPath: folder.file(".attestgate/authority"), withIntermediateDirectories: true)
    try folder.write(folder.read("root.pem"), to: ".attestgate/authority/root.pem")
    return folder
  }

  @Test func theExampleLoadsOnceItsRootExists() throws {
    let folder = try folderWithExample()
    let configuration = try load(Self.example, file: folder.file("proxy.yaml"))
    #expect(configuration.routes.map(\.policy.mode) == [.off, .monitor, .enforce])
    #expect(configuration.routes[2].policy.counter == .window(64))
    #expect(configuration.warnings.map(\.path) == ["apps[0].trust_roots[1]"])
    #expect(throws: ConfigurationFailure.self) { try load(Self.example, file: "/no/such/folder/proxy.yaml") }
  }

  @Test func noMutationOfTheExampleTraps() throws {
    let folder = try folderWithExample()
    let original = Array(Self.example.utf8)
    var random = SeededGenerator(seed: 11)
    let pieces = [
      "{", "}", "[", "]", ":", "- ", "\n", "  ", "&a ", "*a", "${", "}", "\"", "'", "!!", "|", ">", "%", "\u{0}", "\t", "#", "?", ",",
      "9999999999999999999", "~",
    ]
    var loaded = 0
    for _ in 0..<3_000 {
      var text = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &random)
        case 1: text.removeSubrange(place..<min(text.count, place + Int.random(in: 1...40, using: &random)))
        case 2: text.insert(contentsOf: Array(pieces.randomElement(using: &random)!.utf8), at: place)
        default: text.insert(contentsOf: text[place..<min(text.count, place + 60)], at: Int.random(in: 0...text.count, using: &random))
        }
        if text.isEmpty { text = [0x61] }
      }
      do throws(ConfigurationFailure) {
        _ = try ConfigurationLoader.load(text: text, file: folder.file("proxy.yaml"), environment: environment())
        loaded += 1
      } catch {
        #expect(!error.problems.isEmpty)
        #expect(error.problems.allSatisfy { $0.line > 0 && $0.column > 0 && !$0.message.isEmpty })
      }
    }
    // Comments are half of the file.
    #expect(loaded > 100)
  }
}

/// The same numbers every time (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
