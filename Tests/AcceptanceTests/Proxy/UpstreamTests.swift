import Fixtures
import Glibc
import Testing

/// Which server gets a request, over which connection, and when one is sent twice.
@Suite struct UpstreamTests {
  static let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
  static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  /// A gate before several servers, each an upstream of the test's own.
  private func withServers(_ ports: [UInt16], options: String = "", _ body: (GateProcess) throws -> Void) throws {
    let servers = ports.map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: [\(servers)]\(options)}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
    defer { gate.process.kill() }
    try body(gate)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
  }

  @Test func connectionsToTheUpstreamAreUsedAgainByOtherClients() throws {
    try withProxy { gate, upstream in
      for _ in 0..<20 { _ = try exchange(port: gate.port, Self.get) }
      #expect(upstream.requests.count == 20)
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test func anIdleConnectionIsClosedAfterItsTime() throws {
    try withProxy(upstream: "pool: {idle_timeout: 300ms}") { gate, upstream in
      _ = try exchange(port: gate.port, Self.get)
      #expect(eventually { upstream.openConnectionCount == 0 })
      _ = try exchange(port: gate.port, Self.get)
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test func aConnectionThatTheUpstreamMeansToCloseIsNotUsedAgain() throws {
    try withProxy(script: { exchange in
      try exchange.answer("bye", fields: ["Connection: close"])
      _ = exchange.waitForHangUp()
    }) { gate, upstream in
      for _ in 0..<3 {
        let answer = try exchange(port: gate.port, Self.post)
        #expect(answer.text == "bye")
        #expect(answer.value("Connection") != "close")
      }
      #expect(upstream.connectionCount == 3)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aConnectionThatTheUpstreamClosedWhileItWasIdleIsNotUsed() throws {
    try withProxy(script: { exchange in
      try exchange.answer("hello")
      exchange.close()
    }) { gate, upstream in
      for number in 1...5 {
        // Even a POST passes: the gate sees the end of the connection before it sends anything.
        let answer = try exchange(port: gate.port, Self.post)
        #expect(answer.text == "hello")
        #expect(eventually { upstream.openConnectionCount == 0 })
        #expect(upstream.requests.count == number)
      }
    }
  }

  @Test func serversTakeTurns() throws {
    let first = try ScriptedUpstream { try $0.answer("first") }
    let second = try ScriptedUpstream { try $0.answer("second") }
    defer { first.stop(); second.stop() }
    try withServers([first.port, second.port]) { gate in
      let answers = try (0..<20).map { _ in try exchange(port: gate.port, Self.get).text }
      #expect(answers.filter { $0 == "first" }.count == 10)
      #expect(answers.filter { $0 == "second" }.count == 10)
    }
  }

  @Test func aServerThatCannotBeReachedIsPassedOverAndComesBack() throws {
    let port = try FreePort.next()
    let second = try ScriptedUpstream { try $0.answer("second") }
    defer { second.stop() }
    try withServers([port, second.port]) { gate in
      for _ in 0..<10 {
        // Nothing was sent to the dead server, so a POST goes on to the next one.
        #expect(try exchange(port: gate.port, Self.post).text == "second")
      }
      #expect(second.requests.count == 10)
      #expect(try gate.metric("attestgate_upstream_connect_failures_total") == 1)
      let first = try ScriptedUpstream(port: port) { try $0.answer("first") }
      defer { first.stop() }
      let isBack = try eventually(within: 30_000) { try exchange(port: gate.port, Self.get).text == "first" }
      #expect(isBack)
    }
  }

  @Test func withoutAnyServerTheAnswerIs502AndTheClientGoesOn() throws {
    try withServers([FreePort.next(), FreePort.next()]) { gate in
      let client = try gate.connect()
      for _ in 0..<3 {
        let answer = try client.exchange(Self.get)
        #expect(answer.status == 502)
        #expect(try problem(in: answer).code == "upstream_unreachable")
      }
    }
  }

  /// The race that every pool has: the upstream ends an idle connection just as a request goes out on it.
  private static let diesOnReuse: ScriptedUpstream.Script = { exchange in
    if exchange.target == "/first" { return try exchange.answer("first") }
    if exchange.connectionNumber == 0 { return exchange.close() }
    try exchange.answer("again")
  }

  @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
  func anIdempotentRequestIsSentOnceMoreWhenAReusedConnectionDies(method: String) throws {
    try withProxy(script: Self.diesOnReuse) { gate, upstream in
      _ = try exchange(port: gate.port, "GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
      let body = method == "PUT" ? "Content-Length: 4\r\n\r\nbody" : "\r\n"
      #expect(try exchange(port: gate.port, "\(method) /second HTTP/1.1\r\nHost: a\r\n\(body)").status == 200)
      #expect(upstream.requests.map(\.message.target) == ["/first", "/second", "/second"])
      #expect(upstream.connectionCount == 2)
      #expect(upstream.requests[2].message.text == (method == "PUT" ? "body" : ""))
    }
  }

  @Test(arguments: ["POST", "PATCH", "PURGE"])
  func aRequestThatMayHaveHadAnEffectIsNeverSentTwice(method: String) throws {
    try withProxy(script: Self.diesOnReuse) { gate, upstream in
      _ = try exchange(port: gate.port, "GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
      let answer = try exchange(port: gate.port, "\(method) /second HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
      #expect(answer.status == 502)
      #expect(upstream.requests.map(\.message.target) == ["/first", "/second"])
    }
  }

  @Test func aFreshConnectionThatDiesIsNotTriedAgain() throws {
    try withProxy(script: { $0.close() }) { gate, upstream in
      let answer = try exchange(port: gate.port, Self.get)
      #expect(answer.status == 502)
      #expect(upstream.requests.count == 1)
    }
  }

  @Test func nothingIsSentAgainOnceAnAnswerHasBegun() throws {
    try withProxy(script: { exchange in
      if exchange.target == "/first" { return try exchange.answer("first") }
      try exchange.send("HTTP/1.1 200")
      exchange.close()
    }) { gate, upstream in
      _ = try exchange(port: gate.port, "GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try exchange(port: gate.port, Self.get).status == 502)
      #expect(upstream.requests.count == 2)
    }
  }

  @Test(arguments: [
    "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "429 Too Many Requests", "421 Misdirected Request",
  ])
  func aStatusIsNoReasonToTryAgain(status: String) throws {
    try withProxy(script: { try $0.answer("its own words", status: status) }) { gate, upstream in
      let answer = try exchange(port: gate.port, Self.get)
      #expect(answer.startLine == "HTTP/1.1 \(status)")
      #expect(answer.text == "its own words")
      #expect(upstream.requests.count == 1)
    }
  }

  @Test func anUpstreamThatDoesNotAnswerInTimeIs504() throws {
    try withProxy(script: { _ = $0.waitForHangUp() }, upstream: "response_timeout: 300ms") { gate, upstream in
      let client = try gate.connect()
      let answer = try client.exchange(Self.get)
      #expect(answer.status == 504)
      #expect(try problem(in: answer).code == "upstream_timeout")
      #expect(try gate.metric("attestgate_timeouts_total", ["kind": "response"]) == 1)
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(upstream.requests.count == 1)
    }
  }

  @Test func aRoutesOwnTimeoutEndsTheExchange() throws {
    let route = "- {path: \"/**\", upstream: api, gate: off, timeout: 300ms}"
    try withProxy(script: { _ = $0.waitForHangUp() }, routes: route) { gate, _ in
      let answer = try exchange(port: gate.port, Self.get)
      #expect(answer.status == 504)
    }
  }

  @Test func anAnswerThatStopsComingIsCutOffVisibly() throws {
    try withProxy(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        _ = exchange.waitForHangUp()
      }, upstream: "idle_timeout: 300ms"
    ) { gate, _ in
      #expect(throws: (any Error).self) { try exchange(port: gate.port, Self.get) }
      #expect(eventually { (try? gate.metric("attestgate_timeouts_total", ["kind": "upstream_idle"])) == 1 })
    }
  }

  @Test func manyClientsAtOnceEachGetTheirOwnAnswer() throws {
    try withProxy(script: { try $0.answer("\($0.target) \(String(decoding: $0.readBody(), as: UTF8.self))") }, workers: 2) { gate, _ in
      let port = gate.port
      let wrong = try onThreads(16) { client in
        let connection = try RawConnection(port: port)
        return try (0..<50).filter { number in
          let body = "client \(client) request \(number)"
          let request = "POST /\(client)/\(number) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
          return try connection.exchange(request).text != "/\(client)/\(number) \(body)"
        }
      }
      #expect(wrong.flatMap { $0 }.isEmpty)
      #expect(try eventually { try gate.metric("attestgate_requests_total", ["code": "200", "method": "POST"]) == 800 })
    }
  }
}
