import Fixtures
import Foundation
import Testing

/// Who ends a connection, when, and what the other side still gets.
@Suite struct ConnectionTests {
  /// One route whose requests must be signed: every request without an assertion is refused.
  static let gatedRoute = "- {path: \"/**\", upstream: api, gate: {mode: enforce, max_body: 1MiB}}"

  @Test func aClientThatWaitsForItsHundredGetsItBeforeItSendsTheBody() throws {
    try withProxy(script: { try $0.answer(try $0.readBody()) }) { gate, _ in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
      #expect(try client.readAnswerHead().startLine == "HTTP/1.1 100 Continue")
      try client.send("large")
      #expect(try client.readAnswer().text == "large")
      try client.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
      #expect(try client.readAnswerHead().status == 100)
      try client.send("1\r\nx\r\n0\r\n\r\n")
      #expect(try client.readAnswer().text == "x")
    }
  }

  @Test func aRefusedClientIsNeverToldToContinue() throws {
    try withProxy(routes: Self.gatedRoute) { gate, upstream in
      for length in [5, 50_000_000] {
        let client = try gate.connect()
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\nExpect: 100-continue\r\n\r\n")
        let answer = try client.readAnswer()
        #expect(answer.interim.isEmpty)
        #expect([401, 413].contains(answer.status))
        #expect(answer.value("Connection") == "close")
        #expect(try client.endsNow())
      }
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func aClientOfHTTP10IsNotToldToContinue() throws {
    try withProxy(script: { try $0.answer(try $0.readBody()) }) { gate, _ in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nlarge")
      let answer = try client.readAnswer()
      #expect(answer.interim.isEmpty)
      #expect(answer.text == "large")
    }
  }

  @Test func anAnswerThatComesWhileTheBodyGoesOutIsPassedOnAtOnce() throws {
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo much")
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + String(repeating: "x", count: 100_000))
      let answer = try client.readAnswer()
      #expect(answer.status == 413)
      #expect(answer.text == "too much")
      #expect(answer.value("Connection") == "close")
      #expect(try client.endsNow())
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aConnectionWhoseRequestWasNotSentToItsEndServesNoOther() throws {
    try withProxy(script: { exchange in
      if exchange.target == "/next" { return try exchange.answer("next") }
      // It does not say that it closes: what it reads next would be taken for the rest of the body.
      try exchange.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo much")
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + String(repeating: "x", count: 100_000))
      #expect(try client.readAnswer().text == "too much")
      // Not a GET: one that went astray would be sent again.
      #expect(try exchange(port: gate.port, "POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").text == "next")
      #expect(upstream.requests.map(\.connection) == [0, 1])
      #expect(eventually { upstream.openConnectionCount == 1 })
    }
  }

  @Test func aClientThatSendsNoMoreStillGetsItsAnswer() throws {
    let isHalfClosed = Latch()
    try withProxy(script: { exchange in
      isHalfClosed.wait()
      // The gate has seen the end of the client's side by now; a moment more makes sure of it.
      usleep(200_000)
      try exchange.answer("late")
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      client.closeWriting()
      isHalfClosed.open()
      #expect(try client.readAnswer().text == "late")
      #expect(try client.endsNow())
    }
  }

  @Test func aClientThatSendsNoMoreGetsTheAnswersToAllItHasSent() throws {
    try withProxy(script: { try $0.answer($0.target) }) { gate, _ in
      let client = try gate.connect()
      try client.send((0..<5).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
      client.closeWriting()
      for number in 0..<5 { #expect(try client.readAnswer().text == "/\(number)") }
      #expect(try client.endsNow())
    }
  }

  @Test func aClientThatDiesWhileItWaitsFreesTheUpstream() throws {
    let wasFreed = Latch()
    try withProxy(script: { exchange in
      if exchange.target == "/next" { return try exchange.answer("next") }
      if exchange.waitForHangUp() { wasFreed.open() }
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 1 })
      client.reset()
      #expect(wasFreed.wait(milliseconds: 10_000))
      #expect(try gate.accessLog(count: 1)[0]["status"] == "499")
      #expect(try exchange(port: gate.port, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n").text == "next")
    }
  }

  @Test func aClientThatGoesAwayDuringAnEndlessAnswerFreesTheUpstream() throws {
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      while true {
        try exchange.sendChunk(String(repeating: "data ", count: 100))
        usleep(1_000)
      }
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try client.readAnswerHead()
      client.close()
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aClientThatDiesInTheMiddleOfItsBodyFreesTheUpstream() throws {
    try withProxy { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "x", count: 1_000))
      #expect(eventually { upstream.requests.count == 1 })
      client.close()
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(upstream.requests[0].isComplete == false)
    }
  }

  /// What a refused client does that goes on sending: RFC 9112 section 9.6 says why closing at once would take its answer away.
  @Test(arguments: [true, false])
  func aRefusedClientThatIsStillSendingCanReadWhy(isTooLarge: Bool) throws {
    try withProxy(routes: Self.gatedRoute) { gate, upstream in
      let length = isTooLarge ? 10 << 20 : 1 << 20
      let client = try gate.connect()
      let sender = TestThread {
        try? client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n")
        for _ in 0..<length / 65_536 { try? client.send([UInt8](repeating: 0x78, count: 65_536)) }
      }
      let answer = try client.readAnswer()
      #expect([401, 413].contains(answer.status))
      #expect(answer.text.contains("\"code\""))
      // Its end comes in order. A reset, which throws here, makes many systems throw away what the client has not read yet.
      #expect(try client.readSome().isEmpty)
      sender.join()
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func aSmallRefusedBodyDoesNotCostTheConnection() throws {
    try withProxy(routes: "- {path: /open, upstream: api, gate: off}\n  " + Self.gatedRoute) { gate, _ in
      let client = try gate.connect()
      for _ in 0..<3 {
        let answer = try client.exchange("POST /gated HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nsmall")
        #expect(answer.status == 401)
        #expect(answer.value("Connection") != "close")
        #expect(try client.exchange("GET /open HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
      }
    }
  }

  @Test func aClientThatAsksForTheCloseGetsIt() throws {
    try withProxy { gate, _ in
      let client = try gate.connect()
      let answer = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      #expect(answer.text == "hello")
      #expect(answer.value("Connection") == "close")
      #expect(try client.endsNow())
    }
  }

  @Test func aHeadThatDoesNotEndInTimeIsRefused() throws {
    try withProxy(listener: ["head_timeout: 300ms"]) { gate, _ in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n")
      let answer = try client.readAnswer()
      #expect(answer.status == 408)
      #expect(try client.endsNow())
    }
  }

  @Test func aHeadThatDripsIsRefusedAllTheSame() throws {
    try withProxy(listener: ["head_timeout: 500ms"]) { gate, _ in
      let client = try gate.connect()
      let dripper = TestThread {
        for _ in 0..<2_000 {
          guard (try? client.send("X")) != nil else { return }
          usleep(20_000)
        }
      }
      #expect(try client.readAnswer().status == 408)
      client.closeWriting()
      dripper.join()
    }
  }

  @Test func aBodyThatStopsComingIsRefused() throws {
    try withProxy(listener: ["body_timeout: 300ms"]) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
      #expect(try client.readAnswer().status == 408)
      #expect(try client.endsNow())
      #expect(try gate.metric("attestgate_timeouts_total", ["kind": "body"]) == 1)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func anIdleConnectionEndsWithoutAnAnswer() throws {
    try withProxy(listener: ["idle_timeout: 300ms"]) { gate, _ in
      let client = try gate.connect()
      _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.readToEnd().isEmpty)
      #expect(try gate.connect().readToEnd().isEmpty)
    }
  }
}
