import Fixtures
import Testing

/// How often a verified key, and an address without one, may come; and how many keys may be enrolled.
@Suite struct KeyRateTests {
  private func refusal(_ answer: RawMessage) throws -> (code: String, seconds: Int) {
    (try problem(in: answer).code, answer.value("Retry-After").flatMap { Int($0) } ?? 0)
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func aKeyThatComesTooOftenIsToldWhenOnEveryGateAndOtherKeysAreNot(style: AppClient.Style) throws {
    try GatedStage.run(gateCount: 2) { stage in
      let (app, other) = (stage.app(style), stage.app(style))
      try app.enrol()
      try other.enrol()
      for gate in stage.gates { #expect(try app.send(app.sign("POST", "/rated/a"), port: gate.port).text == "bought") }
      let request = try app.sign("POST", "/rated/a")
      for gate in stage.gates {
        let answer = try app.send(request, port: gate.port)
        let (code, seconds) = try refusal(answer)
        #expect(answer.status == 429 && code == "rate_limited" && 1_700...1_801 ~= seconds)
      }
      #expect(stage.bought == 2)
      #expect(try stage.gate.metric("attestgate_rate_limited_total", ["by": "key"]) == 1)
      // Another key of the same address, and the same key elsewhere, have their own buckets.
      #expect(try other.send(other.sign("POST", "/rated/a")).text == "bought")
      #expect(try app.send(app.sign("POST", "/v1/a")).text == "bought")
    }
  }

  @Test func whatWasLimitedIsGoodOnceItsTimeHasCome() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      for _ in 0..<2 { #expect(try app.send(app.sign("POST", "/rated/a")).text == "bought") }
      let request = try app.sign("POST", "/rated/a")
      #expect(try refusal(app.send(request)).code == "rate_limited")
      // As if half an hour had passed; the very same bytes are taken then, since they used nothing up.
      let redis = try stage.redis.connect()
      guard case .array(let names) = try redis.command(["KEYS", "attestgate:rate:*"]), let name = names.first?.text else {
        Issue.record("no bucket")
        return
      }
      try redis.command(["DEL", name])
      #expect(try app.send(request).text == "bought")
      #expect(try refusal(app.send(request)).code == "assertion_already_accepted")
    }
  }

  @Test func aVerifiedKeyIsNeverLimitedByItsAddress() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      let unsigned = "GET /watched/a HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
      for _ in 0..<2 { #expect(try exchange(port: stage.gate.port, unsigned).text == "bought") }
      #expect(try refusal(exchange(port: stage.gate.port, unsigned)).code == "rate_limited")
      for _ in 0..<5 { #expect(try app.send(app.sign("POST", "/watched/a")).text == "bought") }
      #expect(try refusal(exchange(port: stage.gate.port, unsigned)).code == "rate_limited")
      #expect(stage.bought == 7)
    }
  }

  @Test func aGateVerifiesOnlySoManyEnrolmentsAndARefusedOneIsGoodLater() throws {
    try GatedStage.run(more: "endpoints: {rate: {enrolment: 2/h}}\n") { stage in
      let apps = (0..<3).map { _ in stage.app(.named) }
      // What is refused before it is verified counts for nothing.
      for _ in 0..<5 {
        let nonsense = try apps[0].enrolment(challenge: "made up")
        #expect(try problem(in: apps[0].send(nonsense)).code == "challenge_unknown")
      }
      let first = try apps[0].enrolment(challenge: apps[0].challenge("attest"))
      #expect(try apps[0].send(first).status == 200)
      try apps[1].enrol()
      let late = try apps[2].enrolment(challenge: apps[2].challenge("attest"))
      let answer = try apps[2].send(late)
      let (code, seconds) = try refusal(answer)
      #expect(answer.status == 429 && code == "rate_limited" && 1_700...1_801 ~= seconds)
      #expect(try stage.gate.metric("attestgate_rate_limited_total", ["by": "enrolment"]) == 1)
      // A resend of one that is enrolled is no new verification.
      #expect(try apps[0].send(first).status == 200)
    }
  }
}
