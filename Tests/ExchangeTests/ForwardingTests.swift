import EventLoop
import Fixtures
import Gate
import Testing
import Upstream

@testable import Exchange

/// A request on its way out and its answer on its way back.
@Suite struct ForwardingTests {
  @Test func anInterimAnswerDuringTheBodyEndsNothing() async throws {
    try await TestGate.run(script: { exchange in
      try exchange.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      try exchange.answer(try exchange.readBody())
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n")
      // The hint is here before the body has ended.
      let interim = try client.readAnswerHead()
      #expect(interim.status == 103)
      #expect(interim.value("Link") == "</a>")
      try client.send("5\r\napple\r\n0\r\n\r\n")
      let answer = try client.readAnswer(to: "POST")
      #expect(answer.status == 200)
      #expect(answer.text == "one apple")
      // Both connections go on.
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
      #expect(try client.readAnswer(to: "POST").status == 200)
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test func interimAnswersWithoutEndAre502() async throws {
    try await TestGate.run(script: { exchange in
      for _ in 0..<17 { try exchange.send("HTTP/1.1 102 Processing\r\n\r\n") }
      _ = exchange.waitForHangUp()
    }) { gate, _ in
      let answer = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.interim.count == 16)
      #expect(answer.status == 502)
    }
  }

  @Test func anAnswerDuringTheBodyEndsBothConnections() async throws {
    try await TestGate.run(script: { exchange in
      try exchange.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n")
      let answer = try client.readAnswer(to: "POST")
      #expect(answer.text == "no")
      #expect(answer.value("Connection") == "close")
      #expect(try client.endsNow())
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func anAnswerToABodyThatWasReadWholeKeepsTheClient() async throws {
    try await TestGate.run(script: { exchange in
      if exchange.target == "/early" { try exchange.send("HTTP/1.1 204 No Content\r\n\r\n") } else { try exchange.answer("hello") }
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
      let answer = try client.readAnswer(to: "POST")
      #expect(answer.status == 204)
      #expect(answer.value("Connection") == nil)
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
    }
  }

  @Test(arguments: ["zz\r\n", "5\nshort\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n"])
  func aBodyThatIsBadFromItsFirstByteIs502AndTheClientGoesOn(body: String) async throws {
    try await TestGate.run(script: { exchange in
      if exchange.target == "/good" { return try exchange.answer("good") }
      try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)")
      _ = exchange.waitForHangUp()
    }) { gate, _ in
      let client = try gate.connect()
      let answer = try client.exchange("GET /bad HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.status == 502)
      #expect(code(in: answer) == "upstream_invalid")
      #expect(try client.exchange("GET /good HTTP/1.1\r\nHost: a\r\n\r\n").text == "good")
      let log = try gate.log(count: 2)
      #expect(log[0].number("status") == 502)
      #expect(log[0]["upstream_failure"]?.isEmpty == false)
      #expect(log[0]["upstream"] != nil)
    }
  }

  /// Where a body is announced that must not come, the connection to the upstream rests a while before it is used again.
  @Test(arguments: [
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true), ("HEAD", "HTTP/1.1 200 OK\r\n\r\n", false),
    ("GET", "HTTP/1.1 204 No Content\r\n\r\n", false), ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", true),
    ("GET", "HTTP/1.1 304 Not Modified\r\n\r\n", false),
  ])
  func anAnswerThatHasNoBodyKeepsBothConnections(method: String, text: String, rests: Bool) async throws {
    try await TestGate.run(script: { try $0.send(text) }) { gate, upstream in
      let client = try gate.connect()
      for _ in 0..<2 {
        try client.send("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try client.readAnswer(to: method)
        #expect(answer.value("Connection") == nil)
        #expect(answer.body.isEmpty)
        if rests { try await Task.sleep(for: .milliseconds(300)) }
      }
      #expect(upstream.connectionCount == 1)
    }
  }

  /// A server that sends a body in answer to `HEAD` cannot have it taken for the next answer.
  @Test func theBodyOfAnAnswerToHeadIsNobodysAnswer() async throws {
    try await TestGate.run(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 38\r\n\r\n")
      if exchange.request.method == "HEAD" {
        try exchange.send("HTTP/1.1 203 Evil\r\nContent-Length: 0\r\n\r\n")
      } else {
        try exchange.send(String(repeating: "x", count: 38))
      }
    }) { gate, upstream in
      let client = try gate.connect()
      for _ in 0..<10 {
        try client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswer(to: "HEAD").status == 200)
        #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
      }
    }
  }

  @Test func everythingBehindALengthIsTheNextRequestAndReachesNobodyAsAnythingElse() async throws {
    try await TestGate.run(script: { try $0.answer(try $0.readBody()) }) { gate, upstream in
      let inner = "GET /smuggled HTTP/1.1\r\nHost: evil\r\n\r\n"
      let client = try gate.connect()
      try client.send("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: \(inner.utf8.count)\r\n\r\n\(inner)")
      #expect(try client.readAnswer(to: "POST").text == inner)
      let size = String(inner.utf8.count, radix: 16)
      try client.send("POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(size);a=\"b\"\r\n\(inner)\r\n0\r\nX: y\r\n\r\n")
      #expect(try client.readAnswer(to: "POST").text == inner)
      #expect(upstream.requests.map(\.message.target) == ["/1", "/2"])
      #expect(upstream.requests[1].message.trailers.isEmpty)
    }
  }

  @Test func anAnswerThatPausesGoesOnWhereItWas() async throws {
    let mayEnd = Latch()
    try await TestGate.run(script: { exchange in
      try exchange.readBody()
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegin")
      mayEnd.wait()
      try exchange.send("-end!")
    }) { gate, upstream in
      let client = try gate.connect()
      for _ in 0..<2 {
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
        var answer = try client.readAnswerHead()
        #expect(try client.readExactly(5) == Array("begin".utf8))
        // Longer than the memory of the request is kept, the first time.
        if upstream.requests.count == 1 { try await Task.sleep(for: .milliseconds(1_200)) }
        mayEnd.open()
        try client.readBody(of: &answer, .length(5))
        #expect(answer.text == "-end!")
      }
      #expect(upstream.connectionCount == 1)
      #expect(try gate.log(count: 2).map { $0["path"] } == ["/", "/"])
    }
  }

  @Test func anAnswerThatStopsIsCutOff() async throws {
    try await TestGate.run(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegin")
        _ = exchange.waitForHangUp()
      },
      { $0.upstreams[0].idleTimeoutMilliseconds = 50 }
    ) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(throws: (any Error).self) { try client.readAnswer() }
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(try gate.log(count: 1)[0]["upstream_failure"] == "the server did not answer in time")
    }
  }

  @Test func theRoutesTimeoutHoldsWhileTheClientIsSlowToRead() async throws {
    let block = String(repeating: "x", count: 1 << 20)
    try await TestGate.run(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while true { try exchange.sendChunk(block) }
      },
      { $0.routes[0].timeoutMilliseconds = 300 }
    ) { gate, upstream in
      let client = try gate.connect(receiveBufferBytes: 4_096)
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 1 && upstream.openConnectionCount == 0 })
      let log = try gate.log(count: 1)
      #expect(log[0].number("status") == 200)
      #expect(log[0]["upstream_failure"] == "the server did not answer in time")
    }
  }

  @Test func aBodyThatStopsIsTheClientsFaultAlsoWhenTheRoutesTimeIsOver() async throws {
    try await TestGate.run({ $0.routes[0].timeoutMilliseconds = 100 }) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbegin")
      #expect(try client.readAnswer(to: "POST").status == 408)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func anEnforcedRouteMarksItsAnswersPrivateAndAMonitoredOneDoesNot() async throws {
    let app = try TestApp()
    try await TestGate.run(
      script: { try $0.answer("hello", fields: ["Cache-Control: public, max-age=60"]) },
      { site in
        site.routes = [
          try .route("/enforced") { _ in }, try .route("/kept") { $0.marksAnswersPrivate = false },
          try .route("/monitored") { $0.mode = .monitor },
        ]
        app.admit(to: &site)
      }
    ) { gate, _ in
      _ = try app.enroll(at: gate)
      for (target, expected) in [
        ("/enforced", "max-age=60, private"), ("/kept", "public, max-age=60"), ("/monitored", "public, max-age=60"),
      ] {
        let client = try gate.connect()
        try client.send(app.request("GET", target, body: [], at: gate))
        let answer = try client.readAnswer()
        #expect(answer.text == "hello")
        #expect(answer.value("Cache-Control") == expected)
      }
    }
  }
}
