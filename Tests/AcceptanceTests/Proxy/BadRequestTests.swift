import Fixtures
import Glibc
import Testing

/// One request that must be refused.
struct BadRequest: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: [UInt8]
  let statuses: Set<Int>
  var testDescription: String { name }

  init(_ name: String, _ text: String, _ statuses: Set<Int> = [400]) {
    self.name = name
    bytes = Array(text.utf8)
    self.statuses = statuses
  }

  /// Framing that two readers could understand in two ways (RFC 9112 section 11.2).
  static let framing: [BadRequest] = [
    .init("length and coding", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    .init("coding and length", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    .init("two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    .init("the same length twice", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    .init("a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello"),
    .init("a length with a sign", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello"),
    .init("a negative length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello"),
    .init("a hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello"),
    .init("an empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello"),
    .init("a length in two parts", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello"),
    .init("a length with a fraction", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\nhello"),
    .init("a length beyond all numbers", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nhello", [400, 413]),
    .init("a length that overflows to 5", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\nhello", [400, 413]),
    .init(
      "two codings in two fields",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("chunked twice", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("another coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("another coding first", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("chunked not last", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("identity", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello", [400, 501]),
    .init("an empty coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("a quoted coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("a coding with a parameter", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("a coding with a vertical tab", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", [400, 501]),
    .init("chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400, 501]),
    .init(
      "underscored length",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer_Encoding: chunked\r\nTransfer-Encoding : chunked\r\n\r\nhello"),
  ]

  /// Lines that are no lines, and fields that are no fields.
  static let lines: [BadRequest] = [
    .init("bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
    .init("bare LF after a field", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
    .init("bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
    .init("bare LF inside a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n"),
    .init("bare CR inside a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n"),
    .init("bare CR after the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n"),
    .init("a folded line", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n"),
    .init("a folded line with a tab", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n"),
    .init("a folded first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
    .init("space before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    .init("tab before the colon", "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n"),
    .init("NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\u{0}z\r\n\r\n"),
    .init("NUL in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\u{0}Y: z\r\n\r\n"),
    .init("a control in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\u{1}z\r\n\r\n"),
    .init("DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: y\u{7F}z\r\n\r\n"),
    .init("no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"),
    .init("an empty name", "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"),
    .init("a name that is no token", "GET / HTTP/1.1\r\nHost: a\r\nX(Y): z\r\n\r\n"),
    .init("a name beyond ASCII", "GET / HTTP/1.1\r\nHost: a\r\nXé: z\r\n\r\n"),
    .init("space in a name", "GET / HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n"),
  ]

  /// Request lines, targets and hosts.
  static let starts: [BadRequest] = [
    .init("no version", "GET /\r\nHost: a\r\n\r\n"),
    .init("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a space at the end", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"),
    .init("a space at the beginning", " GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a tab", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n"),
    .init("a version of three parts", "GET / HTTP/1.1.1\r\nHost: a\r\n\r\n"),
    .init("version 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", [400, 505]),
    .init("version 0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", [400, 505]),
    .init("a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]),
    .init("a TLS handshake", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}\r\n\r\n"),
    .init("a method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("an empty target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a raw control in the target", "GET /a\u{1} HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("userinfo in the target", "GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("no host", "GET / HTTP/1.1\r\n\r\n"),
    .init("an empty host in absolute form", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    .init("the same host twice", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
    .init("a list of hosts", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    .init("userinfo in the host", "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n"),
    .init("a port that is none", "GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n"),
    .init("a path in the host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    .init("a space in the host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    .init("CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", [405]),
    .init("TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", [405]),
    .init("asterisk with GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a dot segment", "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a coded dot segment", "GET /a/%2e%2E/b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("an empty segment", "GET /a//b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a coded slash", "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a coded NUL", "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a bad escape", "GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a backslash", "GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n"),
    .init("a path parameter", "GET /a;b/c HTTP/1.1\r\nHost: a\r\n\r\n"),
  ]

  /// More than the limits of config.md.
  static let sizes: [BadRequest] = [
    .init("a long request line", "GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\nHost: a\r\n\r\n", [414]),
    .init("an endless request line", "GET /\(String(repeating: "a", count: 200_000))", [414]),
    .init("a long field", "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n", [431]),
    .init("an endless field", "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 200_000))", [431]),
    .init("many fields", "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "X: y\r\n", count: 101))\r\n", [431]),
  ]
}

/// A malformed request gets its code, reaches nothing, and costs its connection where its framing cannot be trusted.
@Suite struct BadRequestTests {
  /// What a smuggler would want to be taken for a second request.
  static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test(arguments: [BadRequest.framing, BadRequest.lines, BadRequest.starts, BadRequest.sizes])
  func isRefusedAndReachesNothing(requests: [BadRequest]) throws {
    try withProxy { gate, upstream in
      for request in requests {
        let client = try gate.connect()
        let sender = TestThread { try? client.send(request.bytes + Array(Self.smuggled.utf8)) }
        guard let answer = try? client.readAnswer(to: request.name == "asterisk with GET" ? "GET" : "POST") else {
          Issue.record("\(request.name): no answer")
          continue
        }
        sender.join()
        #expect(request.statuses.contains(answer.status), "\(request.name): \(answer.startLine)")
        #expect(throws: Never.self, "\(request.name)") { try problem(in: answer) }
      }
      // Only requests with good framing may have let the one behind them through, as a request of its own.
      #expect(upstream.requests.allSatisfy { $0.message.target == "/smuggled" && $0.message.body.isEmpty })
      #expect(try exchange(port: gate.port, "GET /fine HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
    }
  }

  @Test(arguments: [BadRequest.framing, BadRequest.lines, BadRequest.sizes])
  func costsTheConnectionWhereFramingIsLost(requests: [BadRequest]) throws {
    try withProxy { gate, upstream in
      for request in requests {
        let client = try gate.connect()
        let sender = TestThread { try? client.send(request.bytes + Array(Self.smuggled.utf8)) }
        let answer = try client.readAnswer()
        sender.join()
        #expect(answer.value("Connection") == "close", "\(request.name)")
        #expect(try client.endsNow(), "\(request.name)")
      }
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test(arguments: [
    "g\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n", "\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello0\r\n\r\n",
    "5\r\nhelloXX0\r\n\r\n",
    "5\rhello\r\n0\r\n\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n", "5;a\u{0}\r\nhello\r\n0\r\n\r\n", "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", "7FFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\nmore", "000000000000000000005\r\nhello\r\n0\r\n\r\n",
    "0\n\r\n", "0\r\n\n", "0\r\nX\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX: y\nZ: z\r\n\r\n",
  ])
  func chunksThatAreNoneEndTheExchange(body: String) throws {
    try withProxy { gate, upstream in
      let client = try gate.connect()
      try client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(body)\(Self.smuggled)")
      // A chunk of absurd size that may still be coming is only told from a good one when the client ends.
      client.closeWriting()
      let answers = try client.readToEnd()
      let text = String(decoding: answers, as: UTF8.self)
      #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 400 ") || text.hasPrefix("HTTP/1.1 413 "), "\(text)")
      #expect(text.components(separatedBy: "HTTP/1.1 ").count <= 2)
      #expect(upstream.requests.allSatisfy { !$0.isComplete && $0.message.target == "/" })
    }
  }

  @Test func endlessChunkExtensionsAndTrailersAreRefused() throws {
    try withProxy { gate, _ in
      let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      for body in ["5;\(String(repeating: "a", count: 200_000))", "0\r\n" + String(repeating: "X: y\r\n", count: 50_000)] {
        let client = try gate.connect()
        let sender = TestThread { try? client.send(head + body) }
        #expect([400, 413, 431].contains(try client.readAnswer().status))
        sender.join()
      }
    }
  }

  @Test func emptyLinesBeforeARequestAreSkippedWithinReason() throws {
    try withProxy { gate, _ in
      let client = try gate.connect()
      let answer = try client.exchange("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
      // RFC 9112 section 2.2: at least one CRLF before a request line is to be ignored.
      #expect(answer.status == 200)
    }
  }

  @Test(.timeLimit(.minutes(3))) func aStormOfBadRequestsLeavesNothingOpen() throws {
    try withProxy(workers: 2) { gate, upstream in
      for _ in 0..<4 { _ = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      _ = try gate.admin("/metrics")
      let pooled = upstream.openConnectionCount
      #expect(eventually { upstream.openConnectionCount == pooled })
      let before = gate.process.openFileCount
      let port = gate.port
      let all = BadRequest.framing + BadRequest.lines + BadRequest.starts + BadRequest.sizes
      _ = try onThreads(4) { thread in
        for (number, request) in all.enumerated() {
          guard let client = try? RawConnection(port: port, timeoutMilliseconds: 5_000) else { continue }
          switch (number + thread) % 4 {
          case 0:
            try? client.send(request.bytes)
            client.reset()
          case 1:
            try? client.send(Array(request.bytes.prefix(request.bytes.count / 2)))
            client.close()
          case 2:
            try? client.send(request.bytes)
            client.closeWriting()
            _ = try? client.readToEnd()
          default: client.close()
          }
        }
      }
      #expect(eventually(within: 20_000) { gate.process.openFileCount <= before }, "\(before) before, \(gate.process.openFileCount) after")
      #expect(eventually(within: 5_000) { (try? gate.metric("attestgate_connections")) == 0 })
      #expect(try exchange(port: gate.port, "GET /fine HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
    }
  }
}
