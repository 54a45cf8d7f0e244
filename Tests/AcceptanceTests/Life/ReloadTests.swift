import Fixtures
import Glibc
import Testing

/// SIGHUP: the configuration is read again while the gate serves.
@Suite struct ReloadTests {
  static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  /// proxy.yaml without listeners: an upstream `api` with these further settings, and one route for everything unless told otherwise.
  static func configuration(
    upstream port: UInt16, _ options: String = "", routes: String = "- {path: \"/**\", upstream: api, gate: off}",
    store: String = "{memory: {}}"
  ) -> String {
    """
    drain_timeout: 5s
    store: \(store)
    apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
    upstreams:
      api: {servers: ["http://127.0.0.1:\(port)"]\(options.isEmpty ? "" : ", ")\(options)}
    routes:
      \(routes)

    """
  }

  private func withGate(
    workers: Int = 1, script: @escaping ScriptedUpstream.Script = { try $0.answer("hello") },
    _ body: (GateProcess, ScriptedUpstream) throws -> Void
  ) throws {
    let upstream = try ScriptedUpstream(script)
    defer { upstream.stop() }
    let gate = try GateProcess(Self.configuration(upstream: upstream.port), workers: workers)
    defer { gate.process.kill() }
    try body(gate, upstream)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
    #expect(!gate.log.contains("Fatal error"), "\(gate.log)")
  }

  @Test func noRequestFailsWhileTheConfigurationIsReadTenTimes() throws {
    let other = try ScriptedUpstream()
    defer { other.stop() }
    try withGate(workers: 2) { gate, upstream in
      let load = Load(port: gate.port)
      for round in 1...10 {
        #expect(load.goesOn())
        // Each time something else changes: the upstream's servers, its fields, the routes, nothing.
        let port = round % 2 == 0 ? upstream.port : other.port
        let more = round % 3 == 0 ? "- {path: /never, upstream: api, gate: off}\n  " : ""
        let routes = more + "- {path: \"/**\", upstream: api, gate: off}"
        let fields = round % 4 == 0 ? "" : "response_headers: {set: {X-Round: \"\(round)\"}}"
        try gate.configure(Self.configuration(upstream: port, fields, routes: routes))
        try gate.reload()
      }
      #expect(load.goesOn())
      #expect(load.end() == [])
      #expect(!other.requests.isEmpty)
      #expect(try gate.metric("attestgate_config_reloads_total", ["result": "done"]) == 10)
      #expect(try gate.metric("attestgate_config_last_reload_successful") == 1)
      // Metrics go on where they were.
      let answered = Double(load.answeredCount)
      #expect(try eventually { try gate.metric("attestgate_requests_total", ["route": "/**"]) ?? 0 >= answered })
    }
  }

  @Test func aBadConfigurationChangesNothingAndSaysWhy() throws {
    try withGate { gate, upstream in
      try gate.configure(Self.configuration(upstream: upstream.port, routes: "- {path: nowhere, upstream: ai, gate: of}"))
      try gate.reload(isGood: false)
      #expect(try gate.metric("attestgate_config_last_reload_successful") == 0)
      for part in ["routes[0].path", "did you mean \"api\"", "did you mean \"off\"", "nothing was changed"] {
        #expect(gate.log.contains(part))
      }
      #expect(try exchange(port: gate.port, Self.get).text == "hello")
      try gate.configure(Self.configuration(upstream: upstream.port))
      try gate.reload()
      #expect(try gate.metric("attestgate_config_last_reload_successful") == 1)
    }
  }

  @Test func aConnectionGoesOverWithItsNextRequest() throws {
    try withGate { gate, upstream in
      let client = try gate.connect()
      #expect(try client.exchange(Self.get).value("X-New") == nil)
      try gate.configure(Self.configuration(upstream: upstream.port, "response_headers: {set: {X-New: \"1\"}}"))
      try gate.reload()
      #expect(try client.exchange(Self.get).value("X-New") == "1")
      try gate.configure(Self.configuration(upstream: upstream.port, routes: "- {path: /other, upstream: api, gate: off}"))
      try gate.reload()
      #expect(try client.exchange(Self.get).status == 404)
    }
  }

  @Test func aRequestThatHasBegunEndsAsItBegan() throws {
    let mayAnswer = Latch()
    let other = try ScriptedUpstream { try $0.answer("other") }
    defer { other.stop() }
    try withGate(script: ScriptedUpstream.holdingSlow(until: mayAnswer)) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 1 })
      try gate.configure(Self.configuration(upstream: other.port, "response_headers: {set: {X-New: \"1\"}}"))
      try gate.reload()
      mayAnswer.open()
      let answer = try client.readAnswer()
      #expect(answer.text == "hello" && answer.value("X-New") == nil && answer.value("Connection") != "close")
      #expect(try client.exchange(Self.get).text == "other")
      // The connection to a server that nobody wants any more does not stay.
      #expect(try eventually { try gate.metric("attestgate_upstream_connections", ["upstream": "api"]) == 1 })
    }
  }

  @Test func anUpstreamThatStaysKeepsItsConnections() throws {
    try withGate { gate, upstream in
      _ = try exchange(port: gate.port, Self.get)
      try gate.configure(Self.configuration(upstream: upstream.port, routes: "- {path: /, upstream: api, gate: off}"))
      try gate.reload()
      _ = try exchange(port: gate.port, Self.get)
      #expect(upstream.requests.map(\.connection) == [0, 0])
    }
  }

  @Test func aWebSocketLivesOnWithoutItsRoute() throws {
    let upstream = try ScriptedUpstream(WebSocketTests.echo)
    defer { upstream.stop() }
    let gate = try GateProcess(Self.configuration(upstream: upstream.port, routes: WebSocketTests.route))
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send(WebSocketTests.handshake)
    #expect(try client.readAnswerHead().status == 101)
    try gate.configure(Self.configuration(upstream: try FreePort.next(), routes: "- {path: /other, upstream: api, gate: off}"))
    try gate.reload()
    try client.send("still here")
    #expect(try client.readExactly(10) == Array("still here".utf8))
    client.closeWriting()
    #expect(try client.readToEnd().isEmpty)
    #expect(try gate.accessLog(count: 1)[0]["tunnel_end"] == "ended")
    #expect(gate.stop() == .exited(0))
  }

  /// A connection that was accepted without TLS must not go on at a listener that has it now.
  @Test func aConnectionOfAListenerThatAsksForSomethingElseNowIsEnded() throws {
    let authority = try CertificateAuthority()
    let issued = try authority.issue("shop", names: ["shop.example.com"])
    try withGate { gate, upstream in
      let plain = try gate.connect()
      #expect(try plain.exchange(Self.get).text == "hello")
      let tls = "tls: {certificate: \(issued.certificateFile), private_key: \(issued.keyFile)}"
      try gate.configure(Self.configuration(upstream: upstream.port), listener: [tls])
      try gate.reload()
      let last = try plain.exchange(Self.get)
      #expect(last.text == "hello" && last.value("Connection") == "close")
      #expect(try TLSClients(port: gate.port, authority: authority).curl("shop.example.com").text == "hello")
      #expect(try gate.metric("attestgate_certificate_expiry_timestamp_seconds") != nil)
      try gate.configure(Self.configuration(upstream: upstream.port))
      try gate.reload()
      #expect(try gate.metric("attestgate_certificate_expiry_timestamp_seconds") == nil)
    }
  }

  @Test func signedRequestsPassWhileTheConfigurationIsReadAndAnotherProcessTakesOver() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      try app.enrol()
      for _ in 0..<3 {
        #expect(try app.send(app.sign()).text == "bought")
        try stage.gate.reload()
        #expect(try app.send(app.sign()).text == "bought")
      }
      stage.gate.process.signal(SIGUSR2)
      #expect(eventually(within: 30_000) { !stage.gate.process.isRunning })
      let successor = try OtherProcess(successorOf: stage.gate)
      defer { successor.kill() }
      #expect(try app.send(app.sign()).text == "bought")
      #expect(stage.bought == 7)
    }
  }

  @Test func listenersComeAndGo() throws {
    try withGate { gate, upstream in
      let port = try FreePort.next()
      let configuration = Self.configuration(upstream: upstream.port)
      try gate.folder.write(
        gate.folder.read("proxy.yaml").replacing("listeners:\n", with: "listeners:\n  - bind: \"127.0.0.1:\(port)\"\n"), to: "proxy.yaml")
      try gate.reload()
      let kept = try RawConnection(port: port)
      let idle = try RawConnection(port: port)
      #expect(try kept.exchange(Self.get).text == "hello")
      #expect(try idle.exchange(Self.get).text == "hello")
      #expect(try exchange(port: gate.port, Self.get).text == "hello")
      try gate.configure(configuration)
      try gate.reload()
      #expect(throws: (any Error).self) { try RawConnection(port: port) }
      // What was connected is answered once more, and told to go.
      let last = try kept.exchange(Self.get)
      #expect(last.text == "hello" && last.value("Connection") == "close")
      #expect(try idle.endsNow())
      #expect(try exchange(port: gate.port, Self.get).text == "hello")
    }
  }

  @Test func aListenerThatCannotBeOpenedChangesNothing() throws {
    try withGate { gate, upstream in
      try gate.configure(Self.configuration(upstream: upstream.port, routes: "- {path: /other, upstream: api, gate: off}"))
      try gate.folder.write(
        gate.folder.read("proxy.yaml").replacing("listeners:\n", with: "listeners:\n  - bind: \"127.0.0.1:\(upstream.port)\"\n"),
        to: "proxy.yaml")
      try gate.reload(isGood: false)
      #expect(gate.log.contains("cannot listen on 127.0.0.1:\(upstream.port)"))
      #expect(try exchange(port: gate.port, Self.get).text == "hello")
    }
  }

  @Test func whatNeedsANewStartIsSaid() throws {
    try withGate { gate, upstream in
      try gate.configure(Self.configuration(upstream: upstream.port), workers: 2)
      try gate.reload()
      #expect(gate.log.contains("workers: the change takes effect at the next start"))
      #expect(try exchange(port: gate.port, Self.get).text == "hello")
    }
  }

  @Test func anotherStoreIsOpenedBeforeTheOldOneIsLetGo() throws {
    let redis = try RedisServer()
    try withGate { gate, upstream in
      let missing = "{redis: {url: \"redis://127.0.0.1:\(try FreePort.next())/0\"}}"
      try gate.configure(Self.configuration(upstream: upstream.port, store: missing))
      try gate.reload(isGood: false)
      #expect(gate.log.contains("the new store does not take commands"))
      #expect(try gate.admin("/readyz").text.contains("\"store\":\"up\""))
      try gate.configure(Self.configuration(upstream: upstream.port, store: "{redis: {url: \"redis://127.0.0.1:\(redis.port)/0\"}}"))
      try gate.reload()
      #expect(try gate.metric("attestgate_store_up") == 1)
      let challenge = try exchange(port: gate.port, "GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(challenge.status == 200)
    }
  }

  @Test func aReloadThatFailsLeavesNothingOpen() throws {
    try withGate { gate, upstream in
      let missing = "{redis: {url: \"redis://127.0.0.1:\(try FreePort.next())/0\"}}"
      try gate.configure(Self.configuration(upstream: upstream.port, store: missing))
      try gate.folder.write(gate.folder.read("proxy.yaml").replacing("access.log", with: "other.log"), to: "proxy.yaml")
      try gate.reload(isGood: false)
      #expect(gate.folder.read("other.log").isEmpty)
      #expect(eventually { gate.process.openFiles.values.contains { $0.hasSuffix("/access.log") } })
      #expect(eventually { !gate.process.openFiles.values.contains { $0.hasSuffix("/other.log") } })
    }
  }

  @Test func anotherAccessLogIsWritten() throws {
    try withGate { gate, upstream in
      _ = try exchange(port: gate.port, Self.get)
      try gate.configure(Self.configuration(upstream: upstream.port))
      try gate.folder.write(gate.folder.read("proxy.yaml").replacing("access.log", with: "other.log"), to: "proxy.yaml")
      try gate.reload()
      _ = try exchange(port: gate.port, Self.get)
      #expect(eventually { gate.folder.read("other.log").split(separator: "\n").count == 1 })
      #expect(gate.accessLog.count == 1)
    }
  }
}
