import Bytes
import HTTP
import Testing

@Suite struct UpstreamWritingTests {
  @Test func aRequestIsWrittenAnewWithItsOwnFraming() {
    let head = RequestHead.parsed(
      "POST http://a.example:81/p?q HTTP/1.0\r\nhost:b.example\r\nA:1\r\nContent-Length:  007\r\nConnection: keep-alive\r\n\r\n")
    #expect(head.written() == "POST /p?q HTTP/1.1\r\nHost: a.example:81\r\nA: 1\r\nContent-Length: 7\r\n\r\n")
  }

  @Test(arguments: [
    (BodyFraming.none, ""), (.length(0), "Content-Length: 0\r\n"), (.length(12), "Content-Length: 12\r\n"),
    (.chunked, "Transfer-Encoding: chunked\r\n"),
  ])
  func theBodyIsFramedAsItIsSent(framing: BodyFraming, field: String) {
    let head = RequestHead.parsed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    #expect(head.written(framing: framing) == "POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n")
  }

  @Test(arguments: [
    ("1.1", "Host: h:1\r\n", UpstreamHost.client(otherwise: Array("o".utf8)), "Host: h:1\r\n"),
    ("1.0", "", .client(otherwise: Array("o".utf8)), "Host: o\r\n"), ("1.1", "Host: h\r\n", .literal(Array("l".utf8)), "Host: l\r\n"),
    ("1.1", "Host: h\r\n", .addedByCaller, ""),
  ])
  func theUpstreamSeesTheHostThatIsConfigured(version: String, field: String, host: UpstreamHost, expected: String) {
    let head = RequestHead.parsed("GET / HTTP/\(version)\r\n\(field)\r\n")
    #expect(head.written(host: host) == "GET / HTTP/1.1\r\n\(expected)\r\n")
  }

  @Test(
    arguments: [(nil, "GET /n HTTP/1.1\r\n\r\n"), ("", "GET /n? HTTP/1.1\r\n\r\n"), ("q", "GET /n?q HTTP/1.1\r\n\r\n")]
      as [(String?, String)])
  func thePathThatWasMatchedCanBeTheOneThatIsForwarded(query: String?, expected: String) {
    let head = RequestHead.parsed("GET /%6e?q HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = head.prepareFields(FieldPolicy())
    var output = ByteQueue()
    let path = Array("/n".utf8)
    if let query {
      let bytes = Array(query.utf8)
      head.writeUpstream(to: &output, path: path.span, query: bytes.span, host: .addedByCaller, framing: .none, changes: .none)
    } else {
      head.writeUpstream(to: &output, path: path.span, query: nil, host: .addedByCaller, framing: .none, changes: .none)
    }
    output.appendEndOfHead()
    #expect(output.text == expected)
  }

  @Test func aValueCannotEndItsLine() {
    var output = ByteQueue()
    output.appendField("X-A", Array("1\r\nX-B: 2\0\u{7F}".utf8))
    output.appendField("X-C", decimal: 3)
    #expect(output.text == "X-A: 1  X-B: 2  \r\nX-C: 3\r\n")
  }
}

/// An answer of 200 with these lines.
private func answer(_ lines: String, to method: RequestMethod = .get) -> ResponseHead {
  ResponseHead.parsed("HTTP/1.1 200 OK\r\nDate: d\r\n\(lines)\r\n", answering: method)
}

/// What a client sees of an answer's head behind the date.
private func relayed(_ lines: String, _ written: (ResponseHead) -> String) -> String {
  let text = written(answer(lines))
  let start = "HTTP/1.1 200 OK\r\nDate: d\r\n"
  guard text.hasPrefix(start), text.hasSuffix("\r\n\r\n") || text == start + "\r\n" else { return text }
  return String(String(text.dropFirst(start.count)).dropLast())
}

@Suite struct DownstreamWritingTests {
  @Test func anAnswerIsWrittenAnewWithoutHopByHopFields() {
    let lines =
      "Content-Length: 05\r\nKeep-Alive: a\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nA:1\r\nTrailer: B\r\nUpgrade: h2c\r\n"
      + "Proxy-Authenticate: a\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-App-Attest-Status: x\r\n"
    #expect(
      relayed(lines) { $0.written() } == "A: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX-App-Attest-Status: x\r\nContent-Length: 5\r\n")
  }

  @Test func theStatusLineIsOursButForStatusAndReason() {
    let head = ResponseHead.parsed("HTTP/1.0 404 Nicht gefunden\r\nDate: d\r\nContent-Length: 0\r\n\r\n")
    #expect(head.written() == "HTTP/1.1 404 Nicht gefunden\r\nDate: d\r\nContent-Length: 0\r\n\r\n")
    #expect(ResponseHead.parsed("HTTP/1.1 204\r\nDate: d\r\n\r\n").written() == "HTTP/1.1 204 \r\nDate: d\r\n\r\n")
  }

  // RFC 9110 section 6.6.1
  @Test func anAnswerWithoutDateGetsOne() {
    let head = ResponseHead.parsed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(head.written() == "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n")
  }

  // RFC 9112 sections 6.1 and 9.3: a client of HTTP/1.0 knows no chunks and closes unless told otherwise.
  @Test(arguments: [
    ("Content-Length: 5\r\n", HTTPVersion.http11, false, "Content-Length: 5\r\n"),
    ("Content-Length: 5\r\n", .http11, true, "Content-Length: 5\r\nConnection: close\r\n"),
    ("Content-Length: 5\r\n", .http10, false, "Content-Length: 5\r\nConnection: keep-alive\r\n"),
    ("Transfer-Encoding: chunked\r\n", .http11, false, "Transfer-Encoding: chunked\r\n"),
    ("Transfer-Encoding: chunked\r\n", .http10, false, "Connection: close\r\n"),
    ("", .http11, false, "Transfer-Encoding: chunked\r\n"), ("", .http10, false, "Connection: close\r\n"),
  ])
  func anAnswerIsFramedForTheClientsVersion(lines: String, version: HTTPVersion, closes: Bool, expected: String) {
    #expect(relayed(lines) { $0.written(version: version, closes: closes) } == expected)
  }

  // RFC 9110 section 8.6
  @Test(arguments: [
    ("200", RequestMethod.head, "Content-Length: 5\r\n", "Content-Length: 5\r\n"), ("200", .head, "Transfer-Encoding: chunked\r\n", ""),
    ("304", .get, "Content-Length: 5\r\n", "Content-Length: 5\r\n"), ("304", .get, "", ""),
    ("204", .get, "Content-Length: 5\r\n", ""),
  ])
  func anAnswerWithoutBodyAnnouncesOnlyWhatItMay(status: String, method: RequestMethod, lines: String, expected: String) {
    let head = ResponseHead.parsed("HTTP/1.1 \(status) x\r\nDate: d\r\n\(lines)\r\n", answering: method)
    #expect(head.written() == "HTTP/1.1 \(status) x\r\nDate: d\r\n\(expected)\r\n")
  }

  @Test func fieldsThatTheUpstreamSetsOrRemovesReplaceItsOwn() throws {
    let changes = try #require(FieldChanges(set: [("Server", "s")], remove: ["X-Powered-By"]))
    let lines = "server: nginx\r\nx-powered-by: a\r\nContent-Length: 0\r\n"
    #expect(relayed(lines) { $0.written(changes: changes) } == "Server: s\r\nContent-Length: 0\r\n")
  }

  @Test func anInterimAnswerIsWrittenWhole() {
    let head = ResponseHead.parsed("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    var output = ByteQueue()
    head.writeInterim(to: &output)
    #expect(output.text == "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
  }
}

@Suite struct PrivateAnswerTests {
  // RFC 9111 section 5.2.2; RFC 9213
  @Test(arguments: [
    ("", "Cache-Control: private\r\n"),
    ("Cache-Control: private\r\n", "Cache-Control: private\r\n"),
    ("Cache-Control: No-Store\r\n", "Cache-Control: No-Store\r\n"),
    ("Cache-Control: max-age=60, PRIVATE\r\n", "Cache-Control: max-age=60, PRIVATE\r\n"),
    ("cache-control: max-age=60\r\n", "Cache-Control: max-age=60, private\r\n"),
    ("Cache-Control: public, max-age=60\r\n", "Cache-Control: max-age=60, private\r\n"),
    ("Cache-Control: s-maxage=60,, must-revalidate\r\n", "Cache-Control: must-revalidate, private\r\n"),
    ("Cache-Control: private, public\r\n", "Cache-Control: private\r\n"),
    ("Cache-Control: no-store, S-MaxAge=5\r\n", "Cache-Control: no-store, private\r\n"),
    ("Cache-Control: private=\"a, b\", no-cache=\"c, public\"\r\n", "Cache-Control: no-cache=\"c, public\", private\r\n"),
    ("Cache-Control: max-age=1\r\nCache-Control: public\r\n", "Cache-Control: max-age=1, private\r\n"),
    ("Cache-Control: private\r\nCache-Control: s-maxage=9\r\n", "Cache-Control: private\r\n"),
    ("Cache-Control: \"private\r\n", "Cache-Control: no-store\r\n"),
    ("Cache-Control: private, @public\r\n", "Cache-Control: no-store\r\n"),
    ("Cache-Control: private\r\nCDN-Cache-Control: max-age=60\r\n", "Cache-Control: private\r\n"),
    ("Surrogate-Control: max-age=60\r\nCloudflare-CDN-Cache-Control: a\r\nEdge-Control: a\r\n", "Cache-Control: private\r\n"),
  ])
  func noSharedCacheKeepsAPrivateAnswer(lines: String, expected: String) {
    let written = relayed(lines + "Content-Length: 0\r\n") { $0.written(isPrivate: true) }
    #expect(written == expected + "Content-Length: 0\r\n")
  }

  @Test func anAnswerThatNeedNotBePrivateIsLeftAsItIs() {
    let lines = "Cache-Control: public, s-maxage=60\r\nCDN-Cache-Control: max-age=60\r\nContent-Length: 0\r\n"
    #expect(relayed(lines) { $0.written() } == lines)
  }
}
