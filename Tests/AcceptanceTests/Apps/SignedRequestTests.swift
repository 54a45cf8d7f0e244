import Fixtures
import Foundation
import SimulatedDevice
import Testing

/// Three apps of the field before the running gate: what they are let do, what not, and that a refusal costs an honest request nothing.
@Suite struct SignedRequestTests {
  /// The code that a request is refused with; nil when it passed.
  private func code(_ answer: RawMessage) throws -> String? {
    guard answer.value("Content-Type") == "application/problem+json" else {
      #expect(answer.text == "bought")
      return nil
    }
    let problem = try problem(in: answer)
    if answer.status == 401 {
      #expect(answer.value("WWW-Authenticate")?.hasPrefix("AppAttest challenge=\"") == true, "\(problem.code) offers no challenge")
    }
    return problem.code
  }

  @Test(arguments: AppClient.Style.allCases)
  func anEnrolledAppIsLetThroughWithItsVerdict(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      for number in 1...3 {
        #expect(try app.send(app.sign(body: "apple \(number)")).text == "bought")
        let request = try #require(stage.upstream.requests.last?.message)
        #expect(request.text == "apple \(number)")
        #expect(request.value("X-App-Attest-Status") == "verified")
        #expect(request.value("X-App-Attest-Key-Id") == app.keyIdentifier)
        #expect(request.value("X-App-Attest-App") == "ABCDE12345.com.example.shop")
        #expect(request.value("X-App-Attest-Environment") == "simulated")
        #expect(request.value("X-App-Attest-Counter") == "\(number)")
        for name in ["X-App-Attest-Assertion", "X-App-Attest-Client-Data", "X-App-Assertion"] { #expect(request.value(name) == nil) }
      }
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func everyKindOfRequestCanBeSigned(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      for (method, target) in [
        ("GET", "/v1/orders"), ("GET", "/v1"), ("GET", "/v1/"), ("DELETE", "/v1/orders/7/"), ("PUT", "/v1/caf%C3%A9/a+b"),
        ("GET", "/v1/orders?page=2&sort=%2Bname"), ("GET", "/v1/orders?"), ("PATCH", "/v1/a%20b"), ("GET", "/v1/~a/%7Eb"),
      ] {
        let body = ["GET", "DELETE"].contains(method) ? "" : "{\"a\":1}"
        #expect(try code(app.send(app.sign(method, target, body: body))) == nil, "\(method) \(target)")
      }
      // A body that comes in chunks is the same body.
      let signed = try app.sign(body: "one apple")
      let chunked = signed.text.replacing("Content-Length: 9", with: "Transfer-Encoding: chunked")
        .replacing("\r\n\r\none apple", with: "\r\n\r\n4\r\none \r\n5\r\napple\r\n0\r\n\r\n")
      #expect(try code(exchange(port: stage.gate.port, chunked)) == nil)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func whatWasChangedOnTheWayIsRefusedAndConsumesNothing(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let good = try app.sign()
      let field = style == .bodyOnly ? "X-App-Assertion" : "X-App-Attest-Assertion"
      var changes: [(String, SignedRequest, Set<String>)] = [
        ("body", good.with { $0.body = "two apples" }, style == .bodyOnly ? ["assertion_unrecognised"] : ["body_mismatch"]),
        ("no body", good.with { $0.body = "" }, style == .bodyOnly ? ["assertion_malformed"] : ["body_mismatch"]),
        ("no fields", good.with { $0.fields = [] }, ["assertion_missing"]),
        ("field twice", good.with { $0.fields.append($0.fields[0]) }, ["assertion_malformed"]),
        ("joined field", good.with { $0.fields[0] += ", AAAA" }, ["assertion_malformed"]),
        ("no base64", good.with { $0.fields[0] = "\(field): *****" }, ["assertion_malformed"]),
        ("cut short", good.with { $0.fields[0].removeLast(8) }, ["assertion_malformed"]),
        (
          "no CBOR", good.with { $0.fields[0] = "\(field): \(Data("hello, this is no CBOR".utf8).base64EncodedString())" },
          ["assertion_malformed"]
        ),
      ]
      if style == .bodyOnly {
        changes.append(("method", good.with { $0.method = "PUT" }, ["method_not_allowed"]))
        changes.append(("path", good.with { $0.target = "/v1/orders" }, ["assertion_missing", "client_data_missing"]))
      } else {
        changes += [
          ("path", good.with { $0.target = "/v1/refunds" }, ["path_mismatch"]),
          ("path above", good.with { $0.target = "/v1" }, ["path_mismatch"]),
          ("method", good.with { $0.method = "PUT" }, ["method_mismatch"]),
          ("query", good.with { $0.target += "?admin=1" }, ["query_unbound"]),
          ("no client data", good.with { $0.fields.remove(at: 1) }, ["client_data_missing"]),
          (
            "other client data", good.with { $0.fields[1] = "X-App-Attest-Client-Data: \(Data("{}".utf8).base64EncodedString())" },
            ["challenge_missing"]
          ),
          ("unreadable client data", good.with { $0.fields[1] = "X-App-Attest-Client-Data: AAAA" }, ["client_data_malformed"]),
        ]
      }
      for (name, request, codes) in changes {
        let found = try code(app.send(request))
        #expect(found.map { codes.contains($0) } == true, "\(style), \(name): \(found ?? "passed")")
      }
      #expect(stage.bought == 0)
      #expect(try code(app.send(good)) == nil)
      #expect(stage.bought == 1)
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func aQueryIsBoundAndCannotBeChanged(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let good = try app.sign("GET", "/v1/orders?page=1&sort=name", body: "")
      for target in [
        "/v1/orders?page=2&sort=name", "/v1/orders", "/v1/orders?", "/v1/orders?sort=name&page=1", "/v1/orders?page=%31&sort=name",
      ] {
        #expect(try code(app.send(good.with { $0.target = target })) == "query_mismatch", "\(target)")
      }
      #expect(try code(app.send(good)) == nil)
      #expect(stage.bought == 1)
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func clientDataThatWasChangedIsNotWhatWasSigned(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let good = try app.sign()
      let data = try #require(Data(base64Encoded: String(good.fields[1].dropFirst("X-App-Attest-Client-Data: ".count))))
      // Still the same to every reader of JSON, but not the bytes that were signed.
      let spaced = Data(String(decoding: data, as: UTF8.self).replacing(",", with: ", ").utf8)
      let changed = good.with { $0.fields[1] = "X-App-Attest-Client-Data: \(spaced.base64EncodedString())" }
      #expect(try code(app.send(changed)) == (style == .named ? "signature_invalid" : "assertion_unrecognised"))
      #expect(try code(app.send(good)) == nil)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aReplayIsRefused(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let good = try app.sign()
      #expect(try code(app.send(good)) == nil)
      for _ in 0..<3 {
        let found = try code(app.send(good))
        // Without a challenge only the counter tells.
        #expect(found == (style == .bodyOnly ? "counter_replayed" : "assertion_already_accepted"))
      }
      #expect(stage.bought == 1)
      #expect(try code(app.send(app.sign())) == nil)
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func aChallengeServesOnceAndOnlyForItsPurpose(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      #expect(try code(app.send(app.sign(challenge: app.challenge("attest")))) == "challenge_wrong_purpose")
      let challenge = try app.challenge("assert")
      #expect(try code(app.send(app.sign(challenge: challenge))) == nil)
      #expect(try code(app.send(app.sign(challenge: challenge))) == "challenge_used")
      #expect(try code(app.send(app.sign(challenge: "Z" + challenge.dropFirst()))) == "challenge_unknown")
      #expect(try code(app.send(app.sign(challenge: String(challenge.dropLast(2)) + "AA"))) == "challenge_unknown")
      #expect(try code(app.send(app.sign(challenge: "made up"))) == "challenge_unknown")
      #expect(stage.bought == 1)
    }
  }

  @Test func aChallengeForOneKeyServesNoOther() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      let stranger = stage.app(.named)
      try app.enrol()
      try stranger.enrol()
      let get =
        "GET /assert/challenge?key_id=\(app.keyIdentifier.replacing("+", with: "%2B").replacing("/", with: "%2F").replacing("=", with: "%3D"))"
      let challenge = try exchange(port: stage.gate.port, "\(get) HTTP/1.1\r\nHost: a\r\n\r\n").text
      #expect(try code(stranger.send(stranger.sign(challenge: challenge))) == "challenge_wrong_key")
      #expect(try code(app.send(app.sign(challenge: challenge))) == nil)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aKeyThatNeverEnrolledIsNotTaken(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let stranger = stage.app(style)
      #expect(try code(stranger.send(stranger.sign())) == (style == .named ? "key_unknown" : "assertion_unrecognised"))
      let app = stage.app(style)
      try app.enrol()
      #expect(try code(stranger.send(stranger.sign())) != nil)
      // Naming a key that is enrolled does not make the signature its own.
      let forged = try stranger.sign().with { request in
        request.fields.removeAll { $0.hasPrefix("X-App-Attest-Key-Id") }
        request.fields.append("X-App-Attest-Key-Id: \(app.keyIdentifier)")
      }
      #expect(try code(stranger.send(forged)) == "signature_invalid")
      #expect(stage.bought == 0)
      #expect(try code(app.send(app.sign())) == nil)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func anotherAppIsNotLetIntoThisOnesRoutes(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style, identity: GatedStage.other)
      try app.enrol()
      #expect(try code(app.send(app.sign())).map { ["app_not_allowed", "rp_id_mismatch"].contains($0) } == true)
      #expect(stage.bought == 0)
      if style != .bodyOnly { #expect(try code(app.send(app.sign("POST", "/other/orders"))) == nil) }
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aCounterThatIsBehindIsRefusedWhereOrderCounts(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let early = try app.sign(body: "early")
      let late = try app.sign(body: "late")
      #expect(try code(app.send(late)) == nil)
      #expect(try code(app.send(early)) == "counter_replayed")
      #expect(stage.bought == 1)
      #expect(try code(app.send(app.sign())) == nil)
    }
  }

  @Test(arguments: [AppClient.Style.unnamed, .named])
  func aWindowTakesEveryCounterOnceInAnyOrder(style: AppClient.Style) throws {
    try GatedStage.run { stage in
      let app = stage.app(style)
      try app.enrol()
      let requests = try (0..<70).map { try app.sign("POST", "/window/\($0)") }
      // The last one moves the window on: the first few have fallen out of it.
      #expect(try code(app.send(requests[69])) == nil)
      for number in [40, 68, 6, 20] { #expect(try code(app.send(requests[number])) == nil, "\(number)") }
      for number in 0...5 { #expect(try code(app.send(requests[number])) == "counter_replayed", "\(number)") }
      #expect(try code(app.send(requests[40])) == "assertion_already_accepted")
      #expect(stage.bought == 5)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func aRevokedKeyIsRefusedAtOnceAndComesBackWhenItIsRestored(style: AppClient.Style) throws {
    try GatedStage.run(gateCount: 2) { stage in
      let app = stage.app(style)
      try app.enrol()
      for gate in stage.gates { #expect(try code(app.send(app.sign(), port: gate.port)) == nil) }
      let configuration = stage.gate.folder.file("proxy.yaml")
      func keys(_ words: String...) throws -> CommandRun {
        try CommandRun([GateProcess.binary, "keys"] + words + ["--config", configuration])
      }
      #expect(try keys("list").text.contains(app.keyIdentifier))
      let revoked = try keys("revoke", app.keyIdentifier)
      #expect(revoked.succeeded, "\(revoked.errors)")
      let good = try app.sign()
      for gate in stage.gates { #expect(try code(app.send(good, port: gate.port)) == "key_revoked") }
      #expect(try keys("show", app.keyIdentifier).text.contains("revoked"))
      let restored = try keys("restore", app.keyIdentifier)
      #expect(restored.succeeded, "\(restored.errors)")
      #expect(try code(app.send(good)) == nil)
      #expect(stage.bought == 3)
    }
  }

  @Test(arguments: AppClient.Style.allCases)
  func ofManyCopiesAtOnceExactlyOnePasses(style: AppClient.Style) throws {
    try GatedStage.run(gateCount: 2) { stage in
      let app = stage.app(style)
      try app.enrol()
      for round in 0..<3 {
        let text = try app.sign().text
        let ports = stage.gates.map(\.port)
        let ready = Latch()
        let opener = TestThread {
          usleep(100_000)
          ready.open()
        }
        let answers = try onThreads(64) { number in
          let client = try RawConnection(port: ports[number % 2])
          ready.wait()
          return try client.exchange(text)
        }
        opener.join()
        let codes = try answers.map { try code($0) }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.compactMap { $0 }.allSatisfy { ["assertion_already_accepted", "counter_replayed"].contains($0) }, "\(codes)")
        #expect(stage.bought == round + 1)
      }
    }
  }

  @Test func aMonitoredRouteLetsEverythingThroughAndTellsTheUpstream() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      let good = try app.sign("POST", "/monitor/orders")
      #expect(try code(app.send(good)) == nil)
      #expect(try code(app.send(good)) == nil)
      #expect(try code(app.send(good.with { $0.fields = ["X-App-Attest-Status: verified"] })) == nil)
      #expect(try code(app.send(app.sign("POST", "/monitor/orders").with { $0.body = "something else" })) == nil)
      let seen = stage.upstream.requests.map(\.message)
      #expect(seen.map { $0.value("X-App-Attest-Status") } == ["verified", "unverified", "unverified", "unverified"])
      let reasons = ["assertion_already_accepted", "assertion_missing", "body_mismatch"]
      #expect(seen.map { $0.value("X-App-Attest-Reason") } == [nil] + reasons)
      #expect(seen.map(\.text) == ["one apple", "one apple", "one apple", "something else"])
    }
  }

  @Test func theAnswerOfAnEnforcedRouteMayNotBeCachedForOthers() throws {
    try GatedStage.run(script: { try $0.answer("bought", fields: ["Cache-Control: public, max-age=60"]) }) { stage in
      let app = stage.app(.named)
      try app.enrol()
      #expect(try app.send(app.sign()).values("Cache-Control").joined(separator: ",").contains("private"))
      let open = try exchange(port: stage.gate.port, "GET /open/a HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(open.value("Cache-Control") == "public, max-age=60")
    }
  }

  @Test func anUpstreamThatFailsDoesNotGiveTheChallengeBack() throws {
    try GatedStage.run(script: { $0.reset() }) { stage in
      let app = stage.app(.named)
      try app.enrol()
      let good = try app.sign()
      #expect(try problem(in: app.send(good)).code == "upstream_unreachable")
      #expect(try problem(in: app.send(good)).code == "assertion_already_accepted")
      #expect(stage.bought == 1)
    }
  }
}
