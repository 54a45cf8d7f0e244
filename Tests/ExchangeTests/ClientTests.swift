import EventLoop
import Fixtures
import Testing

@testable import Exchange

/// Clients that go away, half or wholly, in each phase, and clients that are told to go.
@Suite struct ClientTests {
  /// Where a client stands when it resets its connection.
  enum Phase: String, CaseIterable, Sendable {
    case inTheBodyThatTheGateReads, inTheBodyThatIsStreamed, whileItWaits, inTheAnswer
  }

  @Test(arguments: Phase.allCases) func aClientThatHangsUpIsLoggedAndLeavesNothing(phase: Phase) async throws {
    let app = try TestApp()
    let hasBegun = Latch()
    try await TestGate.run(
      script: { exchange in
        hasBegun.open()
        switch exchange.target {
        case "/answer":
          try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
          try exchange.sendChunk("begin")
          // What has begun is read by the client, which then goes; only more of it shows that.
          while true { try exchange.sendChunk("more") }
        default: _ = exchange.waitForHangUp()
        }
      },
      { site in
        site.routes = [try .route("/gated") { _ in }, try .open("/**")]
        app.admit(to: &site)
      }
    ) { gate, upstream in
      let client = try gate.connect()
      var linesBefore = 0
      switch phase {
      case .inTheBodyThatTheGateReads:
        _ = try app.enroll(at: gate)
        let request = try app.request("POST", "/gated", body: pattern(50_000), at: gate)
        linesBefore = 3
        try client.send(Array(request.dropLast(10_000)))
        #expect(eventually { gate.metric("attestgate_requests_in_flight") == 1 })
      case .inTheBodyThatIsStreamed:
        try client.send("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbegin")
        #expect(hasBegun.wait())
      case .whileItWaits:
        try client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(hasBegun.wait())
      case .inTheAnswer:
        try client.send("GET /answer HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswerHead().status == 200)
      }
      client.reset()
      let log = try gate.log(count: linesBefore + 1)
      #expect(log[linesBefore].number("status") == 499, "\(phase): \(log[linesBefore].text)")
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(gate.metric("attestgate_requests_total", ["code": "499"]) == 1)
    }
  }

  @Test func aClientThatSendsNoMoreGetsItsAnswer() async throws {
    let mayAnswer = Latch()
    try await TestGate.run(script: { exchange in
      mayAnswer.wait()
      try exchange.answer("hello")
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      client.closeWriting()
      #expect(eventually { upstream.requests.count == 1 })
      mayAnswer.open()
      #expect(try client.readAnswer().text == "hello")
      #expect(try client.endsNow())
    }
  }

  @Test func aClientThatStopsInTheMiddleOfItsBodyIsLoggedAsGone() async throws {
    try await TestGate.run { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
      client.closeWriting()
      #expect(try gate.log(count: 1)[0].number("status") == 499)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test(arguments: ["", "\r\n"]) func aConnectionWithoutARequestEndsInSilence(bytes: String) async throws {
    try await TestGate.run({
      $0.listeners[0].idleTimeoutMilliseconds = 50
      $0.listeners[0].headTimeoutMilliseconds = 50
    }) { gate, _ in
      let client = try gate.connect()
      try client.send(bytes)
      #expect(try client.readToEnd() == [])
    }
  }

  @Test func aHeadThatBeganAndDoesNotEndIs408() async throws {
    try await TestGate.run({ $0.listeners[0].headTimeoutMilliseconds = 50 }) { gate, _ in
      let client = try gate.connect()
      try client.send("\r\nGET / HTTP/1.1\r\nHo")
      #expect(try client.readAnswer().status == 408)
      let line = try gate.log(count: 1)[0]
      #expect(line["method"] == nil)
      #expect(line["code"] == "request_timeout")
    }
  }

  @Test func aRefusedClientThatIsStillSendingCanReadWhy() async throws {
    try await TestGate.run({ $0.routes = [try .route("/**") { _ in }] }) { gate, _ in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n" + String(repeating: "x", count: 30_000))
      let answer = try client.readAnswer(to: "POST")
      #expect(answer.status == 401)
      #expect(answer.value("Connection") == "close")
      try client.send(String(repeating: "x", count: 20_000))
      #expect(try client.endsNow())
    }
  }
}

/// The end of a worker.
@Suite struct DrainTests {
  @Test func anIdleClientIsSentAwayAndOneThatHasJustConnectedIsServed() async throws {
    try await TestGate.run { gate, _ in
      let idle = try gate.connect()
      #expect(try idle.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
      let fresh = try gate.connect()
      #expect(eventually { gate.metric("attestgate_connections") == 2 })
      await gate.worker.stopAccepting()
      let answer = try fresh.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.text == "hello")
      #expect(answer.value("Connection") == "close")
      #expect(try fresh.endsNow())
      await gate.worker.drain(until: Instant.now.advanced(byMilliseconds: 10_000))
      #expect(try idle.endsNow())
    }
  }

  @Test func idleClientsAreNotAllSentAwayAtOnce() async throws {
    try await TestGate.run { gate, _ in
      let clients = try (0..<150).map { _ in try gate.connect() }
      for client in clients { _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      await gate.worker.stopAccepting()
      async let end: Void = gate.worker.drain(until: Instant.now.advanced(byMilliseconds: 20_000))
      var counts: Set<Int> = []
      while case let count = await gate.worker.connectionCount(), count > 0 { counts.insert(count) }
      await end
      #expect(counts.count > 10)
    }
  }

  @Test func whatHasBegunIsEnded() async throws {
    let mayAnswer = Latch()
    try await TestGate.run(script: { exchange in
      mayAnswer.wait()
      try exchange.answer("hello")
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 1 })
      await gate.worker.stopAccepting()
      mayAnswer.open()
      let answer = try client.readAnswer()
      #expect(answer.text == "hello")
      #expect(answer.value("Connection") == "close")
    }
  }

  @Test func whatIsCutOffIsLogged() async throws {
    try await TestGate.run(script: { _ = $0.waitForHangUp() }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 1 })
      await gate.worker.stopAccepting()
      await gate.worker.drain(until: Instant.now.advanced(byMilliseconds: 20))
      #expect(try client.endsNow())
      let line = try gate.log(count: 1)[0]
      #expect(line["path"] == "/cut")
      #expect(line.number("status") == 499)
    }
  }
}
