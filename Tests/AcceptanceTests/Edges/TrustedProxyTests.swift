import Fixtures
import Testing

/// What is believed of those before the gate, and what is not.
@Suite struct TrustedProxyTests {
  static let trusted = ["trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]"]

  private func play(
    _ lines: String, listener: [String], _ body: (RawMessage, AccessLogLine) throws -> Void
  ) throws {
    try withProxy(listener: listener) { gate, upstream in
      #expect(try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\(lines)\r\n").status == 200)
      try body(try #require(upstream.requests.first?.message), try gate.accessLog(count: 1)[0])
    }
  }

  @Test func whatAPeerSaysWhoIsNotTrustedIsReplaced() throws {
    let lines =
      "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Prefix: /evil\r\nX-Real-IP: 6.6.6.6\r\n"
      + "Forwarded: for=6.6.6.6\r\nX-Request-Id: evil\r\nX-Original-URL: /evil\r\n"
    try play(lines, listener: ["trusted_proxies: [10.0.0.0/8]"]) { request, line in
      #expect(request.values("X-Forwarded-For") == ["127.0.0.1"])
      #expect(request.values("X-Forwarded-Proto") == ["http"])
      #expect(request.values("X-Forwarded-Host") == ["a"])
      let head = String(decoding: request.head, as: UTF8.self)
      #expect(!head.contains("evil") && !head.contains("6.6.6.6"))
      #expect(line["client"] == "127.0.0.1")
      #expect(line["request_id"] != "evil")
    }
  }

  @Test func whatATrustedPeerSaysIsTakenUp() throws {
    let lines =
      "X-Forwarded-For: 6.6.6.6, 203.0.113.9, 10.0.0.5\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: api.example.com\r\n"
      + "X-Forwarded-Port: 443\r\nX-Real-IP: 203.0.113.9\r\nX-Request-Id: trace-1\r\nX-Original-URL: /other\r\nX-Rewrite-URL: /other\r\n"
    try play(lines, listener: Self.trusted) { request, line in
      #expect(request.values("X-Forwarded-For") == ["6.6.6.6, 203.0.113.9, 10.0.0.5, 127.0.0.1"])
      #expect(request.values("X-Forwarded-Proto") == ["https"])
      #expect(request.values("X-Forwarded-Host") == ["api.example.com"])
      #expect(request.values("X-Forwarded-Port") == ["443"])
      #expect(request.values("X-Real-IP") == ["203.0.113.9"])
      #expect(request.values("X-Request-Id") == ["trace-1"])
      #expect(request.value("X-Original-URL") == nil && request.value("X-Rewrite-URL") == nil)
      #expect(line["client"] == "203.0.113.9")
      #expect(line["request_id"] == "trace-1")
    }
  }

  @Test func aTrustedPeerWhoSaysNothingIsTheClient() throws {
    try play("", listener: Self.trusted) { request, line in
      #expect(request.values("X-Forwarded-For") == ["127.0.0.1"])
      #expect(request.values("X-Forwarded-Proto") == ["http"])
      #expect(request.values("X-Forwarded-Host") == ["a"])
      #expect(line["client"] == "127.0.0.1")
    }
  }

  @Test(arguments: ["X-Forwarded-For: garbage, 203.0.113.9", "X-Forwarded-For:", "X-Forwarded-Proto: gopher"])
  func whatATrustedPeerShouldNotSayIsRefused(line: String) throws {
    try withProxy(listener: Self.trusted) { gate, upstream in
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n")
      #expect(answer.status == 400)
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func eachRequestOfAConnectionHasAClientOfItsOwn() throws {
    try withProxy(listener: Self.trusted) { gate, _ in
      let client = try gate.connect()
      _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.1\r\nX-Request-Id: one\r\n\r\n")
      _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 2001:db8::2\r\n\r\n")
      _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let lines = try gate.accessLog(count: 3)
      #expect(lines.map { $0["client"] } == ["203.0.113.1", "2001:db8::2", "127.0.0.1"])
      #expect(lines[0]["request_id"] == "one" && lines[1]["request_id"] != "one")
    }
  }
}
