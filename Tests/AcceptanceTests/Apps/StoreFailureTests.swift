import Fixtures
import Foundation
import Glibc
import Testing

/// Redis dies, forgets, hangs and turns read-only: no replay passes, nothing hangs, and honest apps find back by the codes alone.
@Suite struct StoreFailureTests {
  private func open(_ stage: GatedStage) throws -> Int {
    try exchange(port: stage.gate.port, "GET /open/a HTTP/1.1\r\nHost: a\r\n\r\n").status
  }

  /// No answer may take longer than the store's time-out (1 s) and what a busy machine adds.
  private func promptly(_ request: () throws -> RawMessage) rethrows -> RawMessage {
    let start = monotonicMilliseconds()
    let answer = try request()
    #expect(monotonicMilliseconds() - start < 6_000)
    return answer
  }

  @Test(arguments: AppClient.Style.allCases)
  func aRedisThatWasKilledAndComesBackEmpty(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let accepted = try (0..<3).map { _ in try app.sign() }
      for request in accepted { #expect(try app.send(request).text == "bought") }
      let unsent = try app.sign()
      stage.redis.kill()
      for _ in 0..<3 {
        let answer = try promptly { try app.send(unsent) }
        #expect(answer.status == 503)
        #expect(try problem(in: answer).recovery == "retry_later")
        #expect(answer.value("Retry-After") != nil)
        #expect(try open(stage) == 200)
      }
      let before = stage.bought
      try stage.redis.restartEmpty()
      try stage.waitForStore()
      for request in accepted + [unsent] { #expect(try app.send(request).text != "bought") }
      #expect(stage.bought == before)
      #expect(try app.buy().text == "bought")
      #expect(app.enrolmentCount == 2)
      #expect(stage.bought == before + 1)
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func aRedisThatComesBackWithOlderData(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      #expect(try app.buy().text == "bought")
      let snapshot = try stage.redis.snapshot()
      let late = stage.app(style)
      try late.enrol()
      // Redis will have forgotten that these were accepted, and with them the counter.
      let accepted = try (0..<3).map { _ in try app.sign() }
      for request in accepted { #expect(try app.send(request).text == "bought") }
      let unsent = try app.sign()
      let before = stage.bought
      try stage.redis.restart(with: snapshot)
      try stage.waitForStore()
      for request in accepted + [unsent] { #expect(try problem(in: app.send(request)).recovery == "fetch_challenge") }
      #expect(stage.bought == before)
      #expect(try app.buy().text == "bought")
      #expect(app.enrolmentCount == 1)
      // A key that the older data do not have is enrolled anew.
      #expect(try late.buy().text == "bought")
      #expect(late.enrolmentCount == 2)
      #expect(stage.bought == before + 2)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aRedisThatIsStoppedAndGoesOn(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      #expect(try app.buy().text == "bought")
      let accepted = try app.sign()
      #expect(try app.send(accepted).text == "bought")
      let inFlight = try (0..<4).map { try app.sign(body: "in flight \($0)") }
      stage.redis.pause()
      for request in inFlight {
        let answer = try promptly { try app.send(request) }
        #expect(answer.status == 503)
        #expect(try open(stage) == 200)
      }
      #expect(stage.bought == 2 + inFlight.count)
      stage.redis.resume()
      let before = stage.bought
      let texts = stage.upstream.requests.map(\.message.text)
      #expect(!texts.contains { $0.hasPrefix("in flight") })
      // Whether Redis carried out what it was sent before it stood still, nobody knows: each may pass once at most.
      for request in inFlight + inFlight { _ = try promptly { try app.send(request) } }
      let passed = stage.upstream.requests.map(\.message.text).filter { $0.hasPrefix("in flight") }
      #expect(Set(passed).count == passed.count)
      #expect(try app.send(accepted).text != "bought")
      #expect(try app.buy().text == "bought")
      #expect(app.enrolmentCount == 1)
      #expect(stage.bought > before)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aRedisThatTurnsReadOnly(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let accepted = try app.sign()
      #expect(try app.send(accepted).text == "bought")
      let refused = try app.sign()
      // What Redis is while a failover makes it a replica: it reads, and answers READONLY to every write.
      try stage.redis.command("REPLICAOF", "127.0.0.1", "1")
      for _ in 0..<3 {
        #expect(try promptly { try app.send(refused) }.status == 503)
        #expect(try app.send(accepted).text != "bought")
        #expect(try open(stage) == 200)
      }
      let refusal = #expect(throws: AppClient.Refused.self) { try stage.app(style).enrol() }
      #expect(refusal?.problem.code == "store_unavailable")
      #expect(stage.upstream.requests.filter { $0.message.target != "/open/a" }.count == 1)
      try stage.redis.command("REPLICAOF", "NO", "ONE")
      #expect(try app.buy().text == "bought")
      #expect(app.enrolmentCount == 1)
      #expect(try app.send(accepted).text != "bought")
    }
  }

  @Test func theGateGoesOnByItselfSoonAfterRedisIsBack() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      stage.redis.kill()
      #expect(try app.send(app.sign(challenge: "any")).status >= 400)
      #expect(try eventually { try stage.gate.metric("attestgate_store_up") == 0 })
      try stage.redis.restartEmpty()
      let start = monotonicMilliseconds()
      #expect(try eventually { try stage.gate.metric("attestgate_store_up") == 2 })
      // The contract says a second; the bound here leaves room for a busy machine.
      #expect(monotonicMilliseconds() - start < 4_000)
    }
  }

  @Test func aGateStartsWithoutRedisAndServesOpenRoutes() throws {
    try GatedStage.run { stage in
      stage.redis.kill()
      let folder = stage.gate.folder
      let ports = [try FreePort.next(), try FreePort.next()]
      let text = folder.read("proxy.yaml").replacing("127.0.0.1:\(stage.gate.port)", with: "127.0.0.1:\(ports[0])")
        .replacing("127.0.0.1:\(stage.gate.adminPort)", with: "127.0.0.1:\(ports[1])")
      let gate = try ChildProcess([GateProcess.binary, "serve", "--config", folder.write(text, to: "second.yaml")])
      defer { gate.kill() }
      let isServing = eventually { (try? exchange(port: ports[0], "GET /open/a HTTP/1.1\r\nHost: a\r\n\r\n").status) == 200 }
      #expect(isServing)
      let app = stage.app(.named)
      app.port = ports[0]
      #expect(throws: AppClient.Refused.self) { try app.enrol() }
      try stage.redis.restartEmpty()
      #expect(try app.buy().text == "bought")
    }
  }

  @Test func aLenientRouteLetsThroughWhatNeedsNoStoreAndSaysSo() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      #expect(try app.send(app.sign("POST", "/lenient/a")).text == "bought")
      let good = try app.sign("POST", "/lenient/a")
      let forged = try app.sign("POST", "/lenient/a").with { $0.body = "something else" }
      stage.redis.kill()
      #expect(try promptly { try app.send(forged) }.status == 403)
      #expect(try promptly { try app.send(good.with { $0.fields = [] }) }.status == 401)
      let answer = try promptly { try app.send(good) }
      #expect(answer.text == "bought")
      let seen = try #require(stage.upstream.requests.last?.message)
      #expect(seen.value("X-App-Attest-Status") == "unverified")
      #expect(seen.value("X-App-Attest-Reason") == "store_unavailable")
      #expect(try eventually { try stage.gate.metric("attestgate_gate_admitted_without_store_total") == 1 })
    }
  }

  @Test func passwordsUsersDatabasesAndUnixSocketsAreUsed() throws {
    let redis = try RedisServer(.init(password: "s3cret", lines: ["user gate on >other ~attestgate:* +@all"]))
    defer { redis.kill() }
    let stores: [(String, isUp: Bool)] = [
      ("url: \"redis://127.0.0.1:\(redis.port)/0\", password: s3cret", true), ("url: \"\(redis.url)\"", true),
      ("url: \"redis://127.0.0.1:\(redis.port)/3\", user: gate, password: other", true),
      ("url: \"unix:\(redis.socketPath)?db=3\", user: gate, password: other", true),
      ("url: \"redis://127.0.0.1:\(redis.port)/0\"", false), ("url: \"redis://127.0.0.1:\(redis.port)/0\", password: wrong", false),
      ("url: \"redis://127.0.0.1:\(redis.port)/99\", password: s3cret", false),
    ]
    for store in stores {
      let gate = try GateProcess(
        """
        store: {redis: {\(store.0)}}
        apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
        upstreams: {api: {servers: ["http://127.0.0.1:9"]}}
        routes: [{path: "/**", upstream: api}]

        """)
      defer { gate.process.kill() }
      let status = { try exchange(port: gate.port, "GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n").status }
      if store.isUp {
        let comesUp = try eventually { try status() == 200 }
        #expect(comesUp, "\(store.0): \(gate.log)")
      } else {
        #expect(try status() == 503, "\(store.0)")
      }
      #expect(gate.stop() == .exited(0))
      // That the gate closes its connections to Redis when it stops is no failure.
      #expect(!gate.log.contains("the gate is stopping"), "\(gate.log)")
    }
  }
}
