import Fixtures
import Synchronization
import Testing

/// Servers that come and go while the gate serves.
@Suite struct ServerHealthTests {
  /// A gate before two servers.
  private func withServers(
    _ first: ScriptedUpstream, _ second: ScriptedUpstream, options: String, workers: Int, _ body: (GateProcess) throws -> Void
  ) throws {
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(first.port)", "http://127.0.0.1:\(second.port)"], \(options)}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """, workers: workers)
    defer { gate.process.kill() }
    try body(gate)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
    #expect(first.malformed.isEmpty && second.malformed.isEmpty)
  }

  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private static func served(_ upstream: ScriptedUpstream) -> Int { upstream.requests.count { $0.message.target == "/" } }

  @Test func aServerThatFailsItsChecksGetsNothingUntilItPassesThem() throws {
    let isWell = Atomic(true)
    let sick = try ScriptedUpstream { exchange in
      let isCheck = exchange.target == "/healthz"
      try exchange.answer("hello", status: isCheck && !isWell.load(ordering: .relaxed) ? "503 Busy" : "200 OK")
    }
    let well = try ScriptedUpstream()
    defer {
      sick.stop()
      well.stop()
    }
    let options = "health: {path: /healthz, interval: 100ms, healthy: 2, unhealthy: 2}"
    try withServers(sick, well, options: options, workers: 2) { gate in
      let server = "127.0.0.1:\(sick.port)"
      func up() throws -> Double? { try gate.metric("attestgate_upstream_server_up", ["upstream": "api", "server": server]) }
      for _ in 0..<8 { #expect(try exchange(port: gate.port, Self.get).status == 200) }
      #expect(Self.served(sick) > 0 && Self.served(well) > 0)
      #expect(try up() == 1)
      isWell.store(false, ordering: .relaxed)
      #expect(try eventually { try up() == 0 })
      #expect(
        try gate.metric("attestgate_upstream_server_state", ["upstream": "api", "server": server, "state": "unhealthy"]) == 1)
      let before = Self.served(sick)
      for _ in 0..<10 { #expect(try exchange(port: gate.port, Self.get).status == 200) }
      #expect(Self.served(sick) == before)
      isWell.store(true, ordering: .relaxed)
      #expect(try eventually { try up() == 1 })
      for _ in 0..<8 { _ = try exchange(port: gate.port, Self.get) }
      #expect(Self.served(sick) > before)
      // Told once, not by each worker.
      #expect(eventually { gate.log.contains("\(server) is up again") })
      #expect(gate.log.split(separator: "\n").count { $0.contains("\(server) is unhealthy: it answered 503") } == 1)
    }
    let check = try #require(sick.requests.first { $0.message.target == "/healthz" }).message
    #expect(check.fields.map(\.name) == ["Host", "User-Agent", "Connection"])
  }

  @Test func requestsGoToTheServerThatHasFewerUnderWay() throws {
    let mayEnd = Latch()
    let script: ScriptedUpstream.Script = { exchange in
      if exchange.target == "/hold" { mayEnd.wait() }
      try exchange.answer("hello")
    }
    let (first, second) = (try ScriptedUpstream(script), try ScriptedUpstream(script))
    defer {
      first.stop()
      second.stop()
    }
    try withServers(first, second, options: "balance: least_connections", workers: 1) { gate in
      let holding = try gate.connect()
      try holding.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { first.requests.count + second.requests.count == 1 })
      let (busy, idle) = first.requests.isEmpty ? (second, first) : (first, second)
      for _ in 0..<10 { #expect(try exchange(port: gate.port, Self.get).status == 200) }
      #expect(Self.served(idle) == 10 && Self.served(busy) == 0)
      mayEnd.open()
      #expect(try holding.readAnswer(to: "GET").text == "hello")
    }
  }
}
