import EventLoop
import Fixtures
import Testing

@testable import Upstream

/// One question to a server, and what counts as an answer.
@Suite struct HealthProbeTests {
  private static func probe(
    _ port: UInt16, path: String? = "/healthz", timeoutMilliseconds: Int = 10_000, on stage: isolated UpstreamStage
  ) async -> HealthProbe.Result? {
    var check = HealthCheck(path: path)
    check.timeoutMilliseconds = timeoutMilliseconds
    let probe = HealthProbe(
      check: check, connector: ServerConnector(to: SocketAddress(host: "127.0.0.1", port: port)!), host: "api.internal:80")
    var result: HealthProbe.Result?
    await probe.run(on: stage.loop) { result = $0 }
    return result
  }

  @Test(
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", .passed),
      ("HTTP/1.0 204 No Content\r\n\r\n", .passed),
      ("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", .passed),
      ("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", .failed("it answered 503")),
      ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", .failed("it answered 404")),
      ("HTTP/1.1 20 OK\r\n\r\n", .failed("its answer is invalid: the status line is malformed")),
      (
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        .failed("its answer is invalid: Content-Length beside Transfer-Encoding")
      ),
      ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", nil),
      (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 5), .failed("too many interim answers")),
      ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", nil),
      ("HTTP/1.1 200 OK\r\nX: y\r\n", .failed("it closed without an answer")),
      ("", .failed("it closed without an answer")),
    ] as [(String, HealthProbe.Result?)])
  func anAnswerPassesAsAnyUpstreamsWould(answer: String, expected: HealthProbe.Result?) async throws {
    let upstream = try ScriptedUpstream { exchange in
      if !answer.isEmpty { try exchange.send(answer) }
      exchange.close()
    }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let result = try #require(await Self.probe(upstream.port, on: stage))
      if let expected {
        #expect(result == expected)
      } else if case .failed(let reason) = result {
        #expect(reason.hasPrefix("its answer is invalid: "))
      } else {
        Issue.record("\(result)")
      }
    }
  }

  @Test func theQuestionIsAPlainRequestOnAConnectionOfItsOwn() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      for _ in 0..<2 { #expect(await Self.probe(upstream.port, path: "/healthz?full=1", on: stage) == .passed) }
    }
    #expect(upstream.connectionCount == 2)
    #expect(upstream.malformed.isEmpty)
    let message = try #require(upstream.requests.first).message
    #expect(message.method == "GET" && message.target == "/healthz?full=1")
    #expect(message.fields.map(\.name) == ["Host", "User-Agent", "Connection"])
    #expect(message.value("Host") == "api.internal:80" && message.value("Connection") == "close")
    #expect(eventually { upstream.openConnectionCount == 0 })
  }

  @Test func nobodyIsAskedForLongerThanTheTimeout() async throws {
    let upstream = try ScriptedUpstream { _ = $0.waitForHangUp() }
    defer { upstream.stop() }
    let silent = try SilentServer()
    try await UpstreamStage.run { stage in
      #expect(await Self.probe(upstream.port, timeoutMilliseconds: 50, on: stage) == .failed("no answer in time"))
      #expect(await Self.probe(silent.port, timeoutMilliseconds: 50, on: stage) == .failed("it took no connection in time"))
    }
  }

  @Test func withoutAPathAConnectionIsEnough() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let dead = try FreePort.next()
    try await UpstreamStage.run { stage in
      #expect(await Self.probe(upstream.port, path: nil, on: stage) == .passed)
      let refused = await Self.probe(dead, path: nil, on: stage)
      #expect(refused == .failed(SocketFailure.failed(111).reason))
    }
    #expect(upstream.requests.isEmpty)
  }
}
