import EventLoop
import Fixtures
import Gate
import Testing
import Upstream

@testable import Exchange

/// One JSON object a request, whatever bytes the client chose (expectations of operators: who, what, which route, why, how long).
@Suite struct AccessLogTests {
  @Test func aForwardedRequestIsTold() async throws {
    try await TestGate.run { gate, upstream in
      let answer = try gate.exchange("GET /a/b?secret=1 HTTP/1.1\r\nHost: a\r\n\r\n")
      let line = try gate.log(count: 1)[0]
      #expect(line["time"]?.hasSuffix("Z") == true)
      #expect(line["request_id"] == upstream.requests[0].message.value("X-Request-Id"))
      #expect(line["client"] == "127.0.0.1")
      #expect(line["method"] == "GET")
      #expect(line["path"] == "/a/b")
      #expect(!line.text.contains("secret"))
      #expect(line["route"] == "/**")
      #expect(line.number("status") == 200)
      #expect(line.number("bytes") == answer.head.count + answer.body.count)
      #expect(line["upstream"] == "127.0.0.1:\(upstream.port)")
      #expect(line.number("duration_us") ?? -1 >= line.number("upstream_us") ?? .max)
      #expect(line.members.keys.contains("tls"))
      for name in ["gate", "reason", "key_id", "code", "detail", "upstream_failure"] { #expect(line.members[name] == nil, "\(name)") }
    }
  }

  @Test func aVerifiedRequestNamesItsKeyAndItsCounter() async throws {
    let app = try TestApp()
    try await TestGate.run({ site in
      site.routes = [try .route("/**") { _ in }]
      app.admit(to: &site)
    }) { gate, _ in
      #expect(try app.enroll(at: gate).status == 200)
      for _ in 0..<2 {
        let client = try gate.connect()
        try client.send(app.request("POST", "/v1", body: pattern(10), at: gate))
        #expect(try client.readAnswer(to: "POST").status == 200)
      }
      let lines = try gate.log(count: 6).filter { $0["path"] == "/v1" }
      #expect(lines.map { $0["gate"] } == ["verified", "verified"])
      #expect(lines.map { $0["key_id"] } == Array(repeating: String(app.device.keyIdentifier.base64.prefix(8)), count: 2))
      #expect(lines.map { $0.number("counter_delta") } == [1, 1])
      #expect(lines.allSatisfy { $0.number("gate_us") ?? 0 > 0 && $0.number("store_us") != nil })
      #expect(lines.allSatisfy { $0.number("gate_us") ?? 0 >= $0.number("store_us") ?? .max })
    }
  }

  @Test func aRefusalSaysWhyInMoreWordsThanItsAnswer() async throws {
    let app = try TestApp()
    try await TestGate.run({ site in
      site.routes = [try .route("/**") { _ in }]
      app.admit(to: &site)
    }) { gate, _ in
      let answer = try app.enroll(at: gate, authority: TestApp().authority)
      #expect(code(in: answer) == "certificate_chain_invalid")
      #expect(try gate.exchange("GET /v1 HTTP/1.1\r\nHost: a\r\n\r\n").status == 401)
      _ = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
      let log = try gate.log(count: 4)
      #expect(log[1]["code"] == "certificate_chain_invalid")
      #expect(log[1]["detail"]?.isEmpty == false)
      #expect(log[1]["detail"].map { answer.text.contains($0) } == false)
      #expect(log[1]["route"] == nil)
      #expect(log[2]["gate"] == "refused")
      #expect(log[2]["reason"] == "assertion_missing")
      #expect(log[2].members["upstream"] == nil)
      #expect(log[3]["code"] == "http_malformed")
      #expect(log[3]["detail"] == "the Host field is repeated")
      #expect(log[3]["method"] == "GET")
      #expect(log[3]["path"] == "/")
    }
  }

  @Test func aServerThatCannotBeReachedIsNamed() async throws {
    let port = try FreePort.next()
    try await TestGate.run(upstreamPort: port) { gate, _ in
      #expect(try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 502)
      let line = try gate.log(count: 1)[0]
      #expect(line["upstream"] == "127.0.0.1:\(port)")
      #expect(line["upstream_failure"] == "no server could be reached: Connection refused")
    }
  }

  @Test func aServerThatAnswersTooLateIsNamed() async throws {
    try await TestGate.run(
      script: { _ = $0.waitForHangUp() }, { $0.upstreams[0].responseTimeoutMilliseconds = 30 }
    ) { gate, upstream in
      #expect(try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 504)
      let line = try gate.log(count: 1)[0]
      #expect(line["upstream"] == "127.0.0.1:\(upstream.port)")
      #expect(line.number("upstream_us") ?? 0 >= 30_000)
    }
  }

  @Test func noByteOfARequestLineCanBreakALine() async throws {
    try await TestGate.run({ $0.routes = [try .open("/good")] }) { gate, _ in
      var sent = 0
      for byte in UInt8.min ... .max {
        for head in [Array("GET /a".utf8) + [byte], Array("G".utf8) + [byte] + Array("T /".utf8), Array("GET /a?".utf8) + [byte]] {
          let client = try gate.connect()
          try client.send(head + Array("b HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
          #expect(try client.readAnswer().status >= 400)
          sent += 1
        }
      }
      let log = try gate.log(count: sent)
      #expect(log.count == sent)
      #expect(log.allSatisfy { $0["request_id"]?.count == 32 && $0["path"]?.contains("?") != true })
    }
  }

  @Test func aPasswordInARefusedTargetIsNotLogged() async throws {
    try await TestGate.run { gate, _ in
      #expect(try gate.exchange("GET http://user:secret@host/path HTTP/1.1\r\nHost: a\r\n\r\n").status == 400)
      let line = try gate.log(count: 1)[0]
      #expect(line["method"] == "GET")
      #expect(line["path"] == nil)
      #expect(!line.text.contains("secret"))
    }
  }
}
