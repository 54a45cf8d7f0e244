import Fixtures
import Glibc
import Testing

/// Tunnels, and what is none.
@Suite struct WebSocketTests {
  // The handshake of RFC 6455 section 1.3.
  static let handshake =
    "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nOrigin: http://example.com\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat\r\nSec-WebSocket-Version: 13\r\n\r\n"
  static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
  static let switching =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n"
    + "Sec-WebSocket-Protocol: chat\r\n\r\n"
  static let route = "- {path: \"/**\", upstream: api, gate: off, upgrade: [websocket]}"

  /// A server that echoes, after the 101, until the client sends no more.
  static let echo: ScriptedUpstream.Script = { exchange in
    guard exchange.request.value("Upgrade") != nil else { return try exchange.answer("hello") }
    try exchange.send(switching)
    while case let bytes = try exchange.connection.readSome(), !bytes.isEmpty { try exchange.connection.send(bytes) }
    exchange.close()
  }

  private func open(_ gate: GateProcess, _ request: String = handshake) throws -> RawConnection {
    let client = try gate.connect()
    try client.send(request)
    let head = try client.readAnswerHead()
    #expect(head.status == 101)
    return client
  }

  @Test func bytesGoBothWaysUntilTheClientSendsNoMore() throws {
    try withProxy(script: Self.echo, routes: Self.route) { gate, upstream in
      let client = try gate.connect()
      // What a client sends ahead of the answer is not lost.
      try client.send(Self.handshake + "early")
      let head = try client.readAnswerHead()
      #expect(head.status == 101)
      #expect(head.values("Upgrade") == ["websocket"] && head.values("Connection") == ["Upgrade"])
      #expect(head.values("Sec-WebSocket-Accept") == [Self.accept] && head.values("Sec-WebSocket-Protocol") == ["chat"])
      #expect(try client.readExactly(5) == Array("early".utf8))
      #expect(try gate.metric("attestgate_tunnels") == 1)
      #expect(try gate.metric("attestgate_requests_in_flight") == 0)
      try client.send([0x81, 0x00, 0xFF, 0x0D, 0x0A])
      #expect(try client.readExactly(5) == [0x81, 0x00, 0xFF, 0x0D, 0x0A])
      client.closeWriting()
      #expect(try client.readToEnd().isEmpty)
      let request = try #require(upstream.requests.first?.message)
      #expect(request.values("Upgrade") == ["websocket"] && request.values("Connection") == ["Upgrade"])
      #expect(request.values("Sec-WebSocket-Key") == ["dGhlIHNhbXBsZSBub25jZQ=="])
      let line = try gate.accessLog(count: 1)[0]
      #expect(line["status"] == "101" && line["bytes_received"] == "10" && line["tunnel_end"] == "ended" && line["upgrade"] == "websocket")
      #expect(Int(line["bytes"] ?? "") == Int(head.head.count) + 10)
      #expect(try gate.metric("attestgate_tunnels") == 0)
      #expect(try gate.metric("attestgate_tunnels_ended_total", ["reason": "ended"]) == 1)
    }
  }

  @Test func theServersEndLeavesTheClientsWayOpen() throws {
    let seen = Latch()
    let script: ScriptedUpstream.Script = { exchange in
      try exchange.send(Self.switching + "bye")
      exchange.connection.closeWriting()
      if try exchange.connection.readToEnd() == Array("late".utf8) { seen.open() }
      exchange.close()
    }
    try withProxy(script: script, routes: Self.route) { gate, _ in
      let client = try open(gate)
      #expect(try client.readToEnd() == Array("bye".utf8))
      try client.send("late")
      client.closeWriting()
      #expect(seen.wait(milliseconds: 10_000))
      #expect(try gate.accessLog(count: 1)[0]["tunnel_end"] == "ended")
    }
  }

  @Test func aSlowReaderHoldsTheSenderBackAndLosesNothing() throws {
    let count = 24 << 20
    let script: ScriptedUpstream.Script = { exchange in
      try exchange.send(Self.switching)
      let block = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }
      for _ in 0..<count / block.count { try exchange.connection.send(block) }
      exchange.close()
    }
    try withProxy(script: script, routes: Self.route) { gate, _ in
      let client = try gate.connect(receiveBufferBytes: 16 << 10)
      try client.send(Self.handshake)
      #expect(try client.readAnswerHead().status == 101)
      // While nothing is read the gate holds a bounded part of it.
      usleep(300_000)
      let memory = try #require(try gate.metric("process_resident_memory_bytes"))
      var received = 0
      var isRight = true
      while case let bytes = try client.readSome(), !bytes.isEmpty {
        for (index, byte) in bytes.enumerated() {
          let place = (received + index) & 65_535
          if byte != UInt8(truncatingIfNeeded: place ^ place >> 8) { isRight = false }
        }
        received += bytes.count
      }
      #expect(received == count && isRight)
      let after = try #require(try gate.metric("process_resident_memory_bytes"))
      #expect(abs(after - memory) < 8_000_000)
    }
  }

  @Test func aTunnelInWhichNothingMovesIsCut() throws {
    try withProxy(script: Self.echo, upstream: "idle_timeout: 200ms", routes: Self.route) { gate, _ in
      let client = try open(gate)
      try client.send("a")
      #expect(try client.readExactly(1) == [0x61])
      #expect(try client.endsNow())
      #expect(try gate.accessLog(count: 1)[0]["tunnel_end"] == "idle")
    }
  }

  @Test func anOpenTunnelIsGivenTheDrainTimeAndIsCutThen() throws {
    let upstream = try ScriptedUpstream(Self.echo)
    defer { upstream.stop() }
    let configuration = """
      drain_timeout: 700ms
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes:
        \(Self.route)

      """
    let gate = try GateProcess(configuration)
    defer { gate.process.kill() }
    let client = try open(gate)
    gate.process.signal(SIGTERM)
    #expect(eventually { gate.log.contains("draining") })
    // Not cut at once.
    try client.send("a")
    #expect(try client.readExactly(1) == [0x61])
    #expect(gate.process.wait(milliseconds: 10_000) == .exited(0))
    #expect(try client.endsNow())
    #expect(try gate.accessLog(count: 1)[0]["tunnel_end"] == "client_gone")
  }

  @Test func whenOneSideIsGoneSoIsTheOther() throws {
    let gone = Latch()
    let script: ScriptedUpstream.Script = { exchange in
      try exchange.send(Self.switching)
      if exchange.target == "/reset" { return exchange.reset() }
      if exchange.waitForHangUp() { gone.open() }
    }
    try withProxy(script: script, routes: Self.route) { gate, _ in
      let client = try open(gate)
      client.reset()
      #expect(gone.wait(milliseconds: 10_000))
      let other = try open(gate, Self.handshake.replacing("/chat", with: "/reset"))
      #expect(try other.endsNow())
      #expect(try gate.accessLog(count: 2).map { $0["tunnel_end"] } == ["client_gone", "upstream_gone"])
    }
  }

  @Test func anotherAnswerIsRelayedAsUsual() throws {
    let script: ScriptedUpstream.Script = {
      try $0.answer(
        "no", status: "426 Upgrade Required", fields: ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"])
    }
    try withProxy(script: script, routes: Self.route) { gate, _ in
      let client = try gate.connect()
      for _ in 0..<2 {
        let answer = try client.exchange(Self.handshake)
        #expect(answer.status == 426 && answer.text == "no")
      }
    }
  }

  @Test(arguments: [
    switching.replacing(accept, with: "AAAALMBiTxaQ9kYGzzhZRbK+xOo="), switching.replacing("Sec-WebSocket-Accept: \(accept)\r\n", with: ""),
    switching.replacing("Upgrade: websocket\r\n", with: "Upgrade: h2c\r\n"), switching.replacing("Connection: Upgrade\r\n", with: ""),
    switching.replacing("HTTP/1.1", with: "HTTP/1.0"), switching.replacing("\r\n\r\n", with: "\r\nContent-Length: 0\r\n\r\n"),
  ])
  func aSwitchThatDoesNotAnswerTheHandshakeIsInvalid(answer: String) throws {
    let script: ScriptedUpstream.Script = { exchange in
      try exchange.send(answer)
      _ = exchange.waitForHangUp()
    }
    try withProxy(script: script, routes: Self.route) { gate, _ in
      let answer = try gate.connect().exchange(Self.handshake)
      #expect(answer.status == 502)
    }
  }

  @Test(arguments: [
    handshake.replacing("GET", with: "POST").replacing("\r\n\r\n", with: "\r\nContent-Length: 0\r\n\r\n"),
    handshake.replacing("Version: 13", with: "Version: 8"),
    handshake.replacing("websocket\r\n", with: "h2c\r\nHTTP2-Settings: AAMAAABk\r\n"),
    handshake.replacing("keep-alive, Upgrade", with: "keep-alive"),
    handshake.replacing("Upgrade: websocket", with: "Upgrade: websocket, h2c"),
    handshake.replacing("dGhlIHNhbXBsZSBub25jZQ==", with: "short"),
  ])
  func whatIsNoHandshakeIsAnOrdinaryRequest(request: String) throws {
    try withProxy(script: Self.echo, routes: Self.route) { gate, upstream in
      let answer = try gate.connect().exchange(request)
      #expect(answer.text == "hello")
      #expect(upstream.requests.first?.message.value("Upgrade") == nil)
      #expect(upstream.requests.first?.message.value("HTTP2-Settings") == nil)
    }
  }

  @Test func aRouteThatDoesNotSaySoPassesNone() throws {
    let script: ScriptedUpstream.Script = { exchange in
      if exchange.request.value("Upgrade") != nil { return try exchange.answer("asked") }
      try exchange.send(Self.switching)
      _ = exchange.waitForHangUp()
    }
    try withProxy(script: script) { gate, _ in
      let answer = try gate.connect().exchange(Self.handshake)
      #expect(answer.status == 502)
    }
  }

  @Test func aGatedRouteAdmitsTheHandshakeFirst() throws {
    let route = "- {path: \"/**\", upstream: api, upgrade: [websocket]}"
    try withProxy(script: Self.echo, routes: route) { gate, upstream in
      let answer = try gate.connect().exchange(Self.handshake)
      #expect(answer.status == 401)
      #expect(upstream.requests.isEmpty)
    }
  }
}
