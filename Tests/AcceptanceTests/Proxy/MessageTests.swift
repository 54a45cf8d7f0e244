import Fixtures
import Testing

/// Requests and answers that pass through: what arrives is what was sent.
@Suite struct MessageTests {
  @Test func anAnswerPassesWithStatusFieldsAndBody() throws {
    try withProxy(script: { try $0.answer("made", status: "201 Created", fields: ["Location: /things/7", "X-Own: a, b"]) }) {
      gate, upstream in
      let answer = try exchange(port: gate.port, "GET /things?x=%20&y HTTP/1.1\r\nHost: api.example.com\r\nAccept: text/*\r\n\r\n")
      #expect(answer.startLine == "HTTP/1.1 201 Created")
      #expect(answer.text == "made")
      #expect(answer.value("Location") == "/things/7")
      #expect(answer.value("X-Own") == "a, b")
      let request = try #require(upstream.requests.first?.message)
      #expect(request.startLine == "GET /things?x=%20&y HTTP/1.1")
      #expect(request.value("Host") == "api.example.com")
      #expect(request.value("Accept") == "text/*")
    }
  }

  @Test func severalAnswersComeOverOneConnection() throws {
    try withProxy(script: { try $0.answer("answer to \($0.target)") }) { gate, upstream in
      let client = try gate.connect()
      for number in 0..<20 {
        let answer = try client.exchange("GET /\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.text == "answer to /\(number)")
        #expect(answer.value("Connection") != "close")
      }
    }
  }

  @Test func pipelinedRequestsAreAnsweredInOrderEachItsOwn() throws {
    let firstIsAwaited = Latch()
    try withProxy(script: { exchange in
      if exchange.target == "/0" { firstIsAwaited.wait(milliseconds: 500) }
      try exchange.answer("\(exchange.target) \(String(decoding: exchange.readBody(), as: UTF8.self))")
    }) { gate, _ in
      let client = try gate.connect()
      var requests = ""
      for number in 0..<12 {
        let kinds = [
          "GET /\(number) HTTP/1.1\r\nHost: a\r\n\r\n", "POST /\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nn\(10 + number)",
          "PUT /\(number) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nch\r\n1\r\n!\r\n0\r\n\r\n",
        ]
        requests += kinds[number % 3]
      }
      try client.send(requests)
      for number in 0..<12 {
        let body = [" ", " n\(10 + number)", " ch!"][number % 3]
        #expect(try client.readAnswer().text == "/\(number)\(body)")
      }
    }
  }

  @Test func requestsThatComeByteByByteAreUnderstood() throws {
    try withProxy(script: { try $0.answer(try $0.readBody()) }) { gate, _ in
      let client = try gate.connect()
      for byte in "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".utf8 { try client.send([byte]) }
      #expect(try client.readAnswer().text == "abc")
    }
  }

  @Test func answersThatComeByteByByteAreUnderstood() throws {
    try withProxy(script: { exchange in
      try exchange.readBody()
      let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n"
      for byte in answer.utf8 { try exchange.connection.send([byte]) }
    }) { gate, _ in
      let client = try gate.connect()
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "abcdefgh")
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "abcdefgh")
    }
  }

  @Test(arguments: [0, 1, 4_096, 65_536, 3_000_000])
  func bodiesWithALengthPassBothWays(size: Int) throws {
    try withProxy(script: { try $0.answer(try $0.readBody()) }) { gate, upstream in
      let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
      let client = try gate.connect()
      let sender = TestThread { try? client.send(Array("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n".utf8) + body) }
      let answer = try client.readAnswer()
      sender.join()
      #expect(answer.body == body)
      #expect(upstream.requests.first?.message.body == body)
    }
  }

  @Test func chunkedBodiesPassBothWays() throws {
    try withProxy(script: { exchange in
      let body = String(decoding: try exchange.readBody(), as: UTF8.self)
      try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n")
      for part in body.split(separator: " ") { try exchange.sendChunk("<\(part)>") }
      try exchange.send("0\r\nX-Sum: 7\r\n\r\n")
    }) { gate, upstream in
      let client = try gate.connect()
      let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
      let answer = try client.exchange(request + "4;name=\"v\"\r\none \r\n03\r\ntwo\r\n0\r\nX-T: u\r\n\r\n")
      #expect(answer.text == "<one><two>")
      #expect(answer.value("Transfer-Encoding") == "chunked")
      #expect(answer.trailers.isEmpty)
      let sent = try #require(upstream.requests.first?.message)
      #expect(sent.text == "one two")
      #expect(sent.trailers.isEmpty)
      #expect(try client.exchange(request + "1\r\nx\r\n0\r\n\r\n").text == "<x>")
    }
  }

  @Test func anAnswerToHeadHasALengthAndNoBody() throws {
    try withProxy(script: { try $0.answer("twelve bytes") }) { gate, _ in
      let client = try gate.connect()
      let answer = try client.exchange("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.status == 200)
      #expect(answer.value("Content-Length") == "12")
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "twelve bytes")
    }
  }

  @Test(arguments: ["204 No Content", "304 Not Modified"])
  func anAnswerThatNeverHasABodyEndsWithItsHead(status: String) throws {
    try withProxy(script: { exchange in
      if exchange.target == "/none" { return try exchange.send("HTTP/1.1 \(status)\r\nETag: \"a\"\r\n\r\n") }
      try exchange.answer("next")
    }) { gate, upstream in
      let client = try gate.connect()
      let answer = try client.exchange("GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.startLine == "HTTP/1.1 \(status)")
      #expect(answer.value("ETag") == "\"a\"")
      #expect(try client.exchange("GET /next HTTP/1.1\r\nHost: a\r\n\r\n").text == "next")
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test func a304KeepsTheLengthOfWhatItStandsFor() throws {
    try withProxy(script: { try $0.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n") }) { gate, _ in
      let client = try gate.connect()
      for _ in 0..<2 {
        let answer = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.status == 304)
        #expect([nil, "500"].contains(answer.value("Content-Length")))
      }
    }
  }

  @Test func interimAnswersArePassedOn() throws {
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
      try exchange.answer("final")
    }) { gate, _ in
      let client = try gate.connect()
      let answer = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.text == "final")
      #expect(answer.interim.map(\.status) == [103, 102])
      #expect(answer.interim.first?.value("Link") == "</a.css>; rel=preload")
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "final")
    }
  }

  @Test func aClientOfHTTP10SeesNoInterimAnswerAndNoChunks() throws {
    try withProxy(script: { exchange in
      try exchange.send("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      try exchange.sendChunk("one ")
      try exchange.sendChunk("two")
      try exchange.sendChunk("")
    }) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.0\r\nHost: a\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer.interim.isEmpty)
      #expect(answer.value("Transfer-Encoding") == nil)
      #expect(answer.text == "one two")
      #expect(try client.endsNow())
      #expect(upstream.requests.first?.message.startLine == "GET / HTTP/1.1")
    }
  }

  @Test func anAnswerThatEndsWithTheConnectionArrivesWhole() throws {
    let body = String(repeating: "0123456789", count: 20_000)
    try withProxy(script: { exchange in
      try exchange.readBody()
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n\(body)")
      exchange.close()
    }) { gate, _ in
      let client = try gate.connect()
      // The gate frames it anew, so that the end of the answer is told from a broken connection and the client's connection goes on.
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == body)
      #expect(try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == body)
    }
  }

  @Test func aLegacyServerThatSpeaksHTTP10IsUnderstood() throws {
    try withProxy(script: { exchange in
      try exchange.readBody()
      try exchange.send("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold")
      exchange.close()
    }) { gate, _ in
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.startLine == "HTTP/1.1 200 OK")
      #expect(answer.text == "old")
    }
  }

  @Test func aTargetInAbsoluteFormIsSentInOriginFormWithItsOwnHost() throws {
    try withProxy { gate, upstream in
      let answer = try exchange(port: gate.port, "GET http://real.example.com/a?b=c HTTP/1.1\r\nHost: other.example.com\r\n\r\n")
      #expect(answer.status == 200)
      let request = try #require(upstream.requests.first?.message)
      #expect(request.target == "/a?b=c")
      #expect(request.value("Host") == "real.example.com")
    }
  }

  @Test func optionsForTheServerAsAWholeAreAnsweredByTheGate() throws {
    try withProxy { gate, upstream in
      let answer = try exchange(port: gate.port, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(200..<300 ~= answer.status)
      #expect(upstream.requests.isEmpty)
    }
  }
}
