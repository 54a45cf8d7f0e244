import Fixtures
import Testing
import Upstream

@testable import Exchange

/// Challenge and counter are used up by requests that are sent on, and by no others.
@Suite struct UsedUpTests {
  /// An upstream that takes one request at a time and has the first of them wait for `mayAnswer`, behind an open and a gated route.
  private static func play(
    queue: Int = 0, queueMilliseconds: Int = 20_000, mayAnswer: Latch, _ check: (TestGate, ScriptedUpstream, TestApp) throws -> Void
  ) async throws {
    let app = try TestApp()
    try await TestGate.run(
      script: { exchange in
        try exchange.readBody()
        if exchange.target == "/open" { mayAnswer.wait() }
        try exchange.answer("bought")
      },
      { site in
        site.upstreams[0].requestsMax = 1
        site.upstreams[0].queueMax = queue
        site.upstreams[0].queueTimeoutMilliseconds = queueMilliseconds
        site.routes = [try .open("/open"), try .route("/**") { _ in }]
        app.admit(to: &site)
      }
    ) { gate, upstream in
      #expect(try app.enroll(at: gate).status == 200)
      try check(gate, upstream, app)
    }
  }

  private static func occupy(_ gate: TestGate, _ upstream: ScriptedUpstream) throws -> RawConnection {
    let client = try gate.connect()
    try client.send("GET /open HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(eventually { upstream.requests.count == 1 })
    return client
  }

  private static func send(_ request: [UInt8], _ method: String, at gate: TestGate) throws -> RawMessage {
    let client = try gate.connect()
    try client.send(request)
    return try client.readAnswer(to: method)
  }

  @Test(arguments: [("POST", 5), ("POST", 100_000), ("GET", 0)])
  func aRequestThatAFullQueueRefusesIsGoodWhenItIsSentAgain(method: String, bodyBytes: Int) async throws {
    let mayAnswer = Latch()
    try await Self.play(mayAnswer: mayAnswer) { gate, upstream, app in
      let occupant = try Self.occupy(gate, upstream)
      let request = try app.request(method, "/v1/orders", body: pattern(bodyBytes), at: gate)
      for _ in 0..<2 {
        let refused = try Self.send(request, method, at: gate)
        #expect(refused.status == 503 && code(in: refused) == "overloaded" && refused.value("Retry-After") == "1")
      }
      #expect(gate.metric("attestgate_store_duration_seconds", ["command": "commit"]) ?? 0 == 0)
      mayAnswer.open()
      #expect(try occupant.readAnswer().text == "bought")
      #expect(try Self.send(request, method, at: gate).text == "bought")
      #expect(code(in: try Self.send(request, method, at: gate)) == "assertion_already_accepted")
      #expect(upstream.requests.count == 2)
    }
  }

  @Test func aRequestThatWaitsTooLongInTheQueueIsGoodWhenItIsSentAgain() async throws {
    let mayAnswer = Latch()
    try await Self.play(queue: 1, queueMilliseconds: 50, mayAnswer: mayAnswer) { gate, upstream, app in
      let occupant = try Self.occupy(gate, upstream)
      let request = try app.request("POST", "/v1/orders", body: [1], at: gate)
      #expect(code(in: try Self.send(request, "POST", at: gate)) == "overloaded")
      mayAnswer.open()
      #expect(try occupant.readAnswer().text == "bought")
      #expect(try Self.send(request, "POST", at: gate).text == "bought")
    }
  }

  @Test func aRequestWhoseClientLeavesTheQueueIsGoodWhenItIsSentAgain() async throws {
    let mayAnswer = Latch()
    try await Self.play(queue: 1, mayAnswer: mayAnswer) { gate, upstream, app in
      let occupant = try Self.occupy(gate, upstream)
      let request = try app.request("POST", "/v1/orders", body: [1], at: gate)
      let leaving = try gate.connect()
      try leaving.send(request)
      #expect(gate.counts(1, "attestgate_upstream_queued_requests"))
      leaving.reset()
      #expect(gate.counts(0, "attestgate_upstream_queued_requests"))
      mayAnswer.open()
      #expect(try occupant.readAnswer().text == "bought")
      #expect(try Self.send(request, "POST", at: gate).text == "bought")
    }
  }

  /// Both copies passed every check but the store's; the place of the one that the store refuses comes free.
  @Test func ofTwoCopiesInTheQueueOneIsSentOnAndTheOtherKeepsNoPlace() async throws {
    let mayAnswer = Latch()
    try await Self.play(queue: 2, mayAnswer: mayAnswer) { gate, upstream, app in
      let occupant = try Self.occupy(gate, upstream)
      let request = try app.request("POST", "/v1/orders", body: [1], at: gate)
      let copies = try (0..<2).map { _ in try gate.connect() }
      for copy in copies { try copy.send(request) }
      #expect(gate.counts(2, "attestgate_upstream_queued_requests"))
      mayAnswer.open()
      #expect(try occupant.readAnswer().text == "bought")
      let answers = try copies.map { try $0.readAnswer(to: "POST") }
      #expect(answers.count { $0.text == "bought" } == 1)
      #expect(answers.count { code(in: $0) == "assertion_already_accepted" } == 1)
      let next = try app.request("POST", "/v1/orders", body: [2], at: gate)
      #expect(try Self.send(next, "POST", at: gate).text == "bought")
      #expect(upstream.requests.count == 3)
    }
  }

  /// What cannot be forwarded takes no place away from what can.
  @Test func aRequestWhoseBodyIsNotTheSignedOneTakesNoPlace() async throws {
    let mayAnswer = Latch()
    try await Self.play(mayAnswer: mayAnswer) { gate, upstream, app in
      let occupant = try Self.occupy(gate, upstream)
      var request = try app.request("POST", "/v1/orders", body: [1], at: gate)
      request[request.count - 1] = 2
      #expect(code(in: try Self.send(request, "POST", at: gate)) == "body_mismatch")
      #expect(gate.metric("attestgate_upstream_overloaded_total") == 0)
      mayAnswer.open()
      #expect(try occupant.readAnswer().text == "bought")
    }
  }
}
