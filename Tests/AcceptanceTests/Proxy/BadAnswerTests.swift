import Fixtures
import Testing

/// What an upstream sends that is no answer, or could be read in two ways, is 502; it is never repaired, and never reaches the client.
@Suite struct BadAnswerTests {
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok",
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\nb: c\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\rb\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\r\n b\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\u{0}b\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nno colon\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "ICY 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "hello, this is no HTTP\r\n\r\n",
    "\u{0}\u{1}\u{2}\u{3}\r\n\r\n",
    "220 mail.example.com ESMTP\r\n",
    "",
    "HTTP/1.1 200 OK\r\nContent-Len",
  ])
  func is502(answer: String) throws {
    try withProxy(script: { exchange in
      if exchange.target == "/next" { return try exchange.answer("next") }
      try exchange.readBody()
      try exchange.send(answer)
      exchange.connection.closeWriting()
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let client = try gate.connect()
      let refusal = try client.exchange("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
      #expect(refusal.status == 502)
      #expect(["upstream_invalid", "upstream_unreachable"].contains(try problem(in: refusal).code))
      #expect(eventually { upstream.openConnectionCount == 0 })
      // The client did nothing wrong.
      #expect(try client.exchange("GET /next HTTP/1.1\r\nHost: a\r\n\r\n").text == "next")
    }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 300_000))\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\(String(repeating: "X: y\r\n", count: 20_000))\r\n",
    String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 5_000) + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  ])
  func anEndlessHeadIs502(answer: String) throws {
    try withProxy(script: { exchange in
      try? exchange.send(answer)
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let refusal = try Fixtures.exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(refusal.status == 502)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nzz\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshortXX0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nshort\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n-1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\nFFFFFFFFFFFFFFFFF\r\n\r\n",
  ])
  func aBodyThatBreaksOffIsSeenToBreakOff(answer: String) throws {
    try withProxy(script: { exchange in
      try exchange.readBody()
      try exchange.send(answer)
      exchange.connection.closeWriting()
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      let client = try gate.connect()
      // Whatever part has arrived: no client may take it for the whole answer.
      if let whole = try? client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n") { #expect(whole.status == 502) }
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aClientOfHTTP10SeesABrokenAnswerBreakOff() throws {
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n")
      exchange.close()
    }) { gate, _ in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
      // Here only the end of the connection ends the body, so a broken one must not end it in order.
      #expect(throws: (any Error).self) { try client.readAnswer() }
    }
  }

  @Test func bytesBehindAnAnswerAreNeverTakenForTheNextOne() throws {
    try withProxy(script: { exchange in
      try exchange.readBody()
      if exchange.target == "/first" {
        try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
      } else {
        try exchange.answer("second")
      }
    }) { gate, upstream in
      let client = try gate.connect()
      for _ in 0..<3 {
        #expect(try client.exchange("GET /first HTTP/1.1\r\nHost: a\r\n\r\n").text == "first")
        #expect(try client.exchange("GET /second HTTP/1.1\r\nHost: a\r\n\r\n").text == "second")
      }
      #expect(upstream.requests.count == 6)
    }
  }

  @Test func bytesThatComeUnaskedOnAnIdleConnectionAreNeverTakenForAnAnswer() throws {
    let evilWasSent = Latch()
    try withProxy(script: { exchange in
      try exchange.answer(exchange.target)
      guard exchange.target == "/first" else { return }
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
      evilWasSent.open()
    }) { gate, _ in
      let client = try gate.connect()
      #expect(try client.exchange("GET /first HTTP/1.1\r\nHost: a\r\n\r\n").text == "/first")
      #expect(evilWasSent.wait())
      #expect(try client.exchange("GET /second HTTP/1.1\r\nHost: a\r\n\r\n").text == "/second")
    }
  }

  @Test func aBodyBehindAnAnswerToHeadIsNotTakenForTheNextAnswer() throws {
    try withProxy(script: { exchange in
      try exchange.readBody()
      // A server that sends a body where there is none.
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
      if exchange.request.method == "HEAD" { try exchange.send("evil") } else { try exchange.send("good") }
    }) { gate, _ in
      let client = try gate.connect()
      #expect(try client.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "good")
    }
  }
}
