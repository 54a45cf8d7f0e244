import Fixtures
import Foundation
import Testing

/// What operators see and do: health, metrics, log, the end.
@Suite struct OperationTests {
  static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func theAdminListenerTellsHealthReadinessAndMetrics() throws {
    try withProxy { gate, _ in
      #expect(try gate.admin("/healthz").status == 200)
      let ready = try gate.admin("/readyz")
      #expect(ready.status == 200)
      #expect(ready.text.contains("store"))
      #expect(try gate.admin("/metrics").value("Content-Type")?.hasPrefix("text/plain; version=0.0.4") == true)
      #expect(try gate.admin("/other").status == 404)
      #expect(try exchange(port: gate.adminPort, "POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").status == 405)
      #expect(try exchange(port: gate.adminPort, "HEAD /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status == 200)
    }
  }

  @Test func theAdminListenerDoesNotStandOnAPublicPort() throws {
    try withProxy { gate, upstream in
      for path in ["/healthz", "/readyz", "/metrics"] {
        let answer = try exchange(port: gate.port, "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.text == "hello")
      }
      #expect(upstream.requests.count == 3)
    }
  }

  @Test(arguments: [
    "GET /healthz HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "\u{16}\u{3}\u{1}\r\n\r\n",
    "GET /\(String(repeating: "a", count: 100_000))",
  ])
  func theAdminListenerRefusesWhatIsMalformed(request: String) throws {
    try withProxy { gate, _ in
      let client = try RawConnection(port: gate.adminPort)
      let sender = TestThread { try? client.send(request) }
      #expect(400..<500 ~= (try client.readAnswer().status))
      sender.join()
      #expect(try gate.admin("/healthz").status == 200)
    }
  }

  @Test func metricsHaveTheNamesThatDashboardsKnow() throws {
    let routes = "- {path: /open, upstream: api, gate: off}\n  - {path: \"/**\", upstream: api, gate: enforce}"
    try withProxy(routes: routes) { gate, _ in
      _ = try exchange(port: gate.port, "GET /open HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try exchange(port: gate.port, "BREW /open HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try exchange(port: gate.port, "GET /gated HTTP/1.1\r\nHost: a\r\n\r\n")
      // The last request is counted once its answer has left.
      #expect(try eventually { try gate.metric("attestgate_requests_total") == 3 })
      let metrics = try Metrics(text: gate.admin("/metrics").text)
      #expect(metrics.value("attestgate_requests_total", ["route": "/open", "method": "GET", "code": "200"]) == 1)
      #expect(metrics.value("attestgate_requests_total", ["route": "/open", "method": "other", "code": "200"]) == 1)
      #expect(metrics.value("attestgate_requests_total", ["route": "/**", "method": "GET", "code": "401"]) == 1)
      let decision = ["route": "/**", "mode": "enforce", "decision": "refused", "reason": "assertion_missing", "class": "no_assertion"]
      #expect(metrics.value("attestgate_gate_decisions_total", decision) == 1)
      for histogram in ["attestgate_request_duration_seconds", "attestgate_upstream_duration_seconds"] {
        #expect(metrics.types[histogram] == "histogram")
        #expect((metrics.value("\(histogram)_count") ?? 0) >= 2)
        #expect(metrics.value("\(histogram)_bucket", ["le": "+Inf"]) == metrics.value("\(histogram)_count"))
        #expect(metrics.value("\(histogram)_sum") != nil)
      }
      #expect(metrics.types["attestgate_store_duration_seconds"] == "histogram")
      #expect(metrics.value("attestgate_store_up") != nil)
      #expect(metrics.value("attestgate_connections") != nil)
      #expect(metrics.value("attestgate_upstream_connections", ["state": "idle"]) == 1)
      #expect(metrics.value("attestgate_upstream_connections", ["state": "active"]) == 0)
      #expect(metrics.value("attestgate_build_info") == 1)
      for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"] {
        #expect((metrics.value(name) ?? 0) > 0, "\(name)")
      }
    }
  }

  @Test func everyRequestHasOneLineOfJSONInTheLog() throws {
    let routes = "- {path: /open/*, methods: [GET], upstream: api, gate: off}\n  - {path: /gated, upstream: api, gate: enforce}"
    try withProxy(routes: routes) { gate, upstream in
      let answer = try exchange(port: gate.port, "GET /open/a?secret=1 HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.status == 200)
      let refusal = try problem(in: exchange(port: gate.port, "GET /gated HTTP/1.1\r\nHost: a\r\n\r\n"))
      _ = try exchange(port: gate.port, "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try exchange(port: gate.port, "no request\r\n\r\n")
      let log = try gate.accessLog(count: 4)
      #expect(log.allSatisfy { !$0.members.isEmpty }, "\(log.map(\.text))")
      #expect(log[0]["method"] == "GET")
      #expect(log[0]["path"] == "/open/a")
      #expect(!log[0].text.contains("secret"))
      #expect(log[0]["route"] == "/open/*")
      #expect(log[0]["status"] == "200")
      #expect(log[0]["client"] == "127.0.0.1")
      #expect(log[0]["request_id"] == upstream.requests[0].message.value("X-Request-Id"))
      #expect(log[0]["upstream"] == "127.0.0.1:\(upstream.port)")
      #expect(Int(log[0]["bytes"] ?? "").map { $0 >= answer.head.count + answer.body.count } == true)
      #expect(log[0]["time"]?.range(of: #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$"#, options: .regularExpression) != nil)
      #expect(Int(log[0]["duration_us"] ?? "") != nil)
      #expect(Int(log[0]["upstream_us"] ?? "") != nil)
      #expect(log[1]["status"] == "401")
      #expect(log[1]["gate"] == "refused")
      #expect(log[1]["reason"] == "assertion_missing")
      #expect(log[1]["request_id"] == refusal.request_id)
      #expect(log[2]["status"] == "404")
      #expect(log[3]["status"] == "400")
    }
  }

  @Test func aHostilePathCannotBreakALineOfTheLog() throws {
    try withProxy { gate, _ in
      let hostile = ["/a\"b", "/a%0a%22", "/\u{e9}", "/<script>", "/a'b", "/%F0%9F%98%80", "/\u{2028}"]
      for path in hostile { _ = try exchange(port: gate.port, "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n") }
      let client = try gate.connect()
      try client.send(Array("GET /\u{1B}[31m".utf8) + [0xFF, 0xFE] + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      _ = try client.readAnswer()
      let log = try gate.accessLog(count: hostile.count + 1)
      #expect(log.count == hostile.count + 1)
      #expect(log.allSatisfy { !$0.members.isEmpty }, "\(log.map(\.text))")
      #expect(!log.contains { $0.text.contains("\u{1B}") })
    }
  }

  @Test(arguments: [SIGTERM, SIGQUIT]) func aDrainingGateEndsWhatItHasBegunAndTakesNothingNew(signal: Int32) throws {
    let mayAnswer = Latch()
    try withProxy(script: ScriptedUpstream.holdingSlow(until: mayAnswer)) { gate, upstream in
      let idle = try gate.connect()
      _ = try idle.exchange(Self.get)
      let busy = try gate.connect()
      try busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(eventually { upstream.requests.count == 2 })
      gate.process.signal(signal)
      #expect(eventually { (try? gate.connect()) == nil })
      #expect(try idle.endsNow())
      if let readiness = try? gate.admin("/readyz") { #expect(readiness.status == 503) }
      #expect(gate.process.isRunning)
      mayAnswer.open()
      let answer = try busy.readAnswer()
      #expect(answer.text == "hello")
      #expect(answer.value("Connection") == "close")
      #expect(gate.process.wait() == .exited(0))
      #expect(gate.accessLog.count == 2)
    }
  }

  @Test func aDrainThatTakesTooLongIsCutOff() throws {
    let upstream = try ScriptedUpstream { _ = $0.waitForHangUp(milliseconds: 60_000) }
    defer { upstream.stop() }
    let gate = try GateProcess(
      """
      drain_timeout: 500ms
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send(Self.get)
    #expect(eventually { upstream.requests.count == 1 })
    #expect(gate.stop(milliseconds: 20_000) == .exited(0))
  }

  @Test func anAnswerThatTheEndOfTheDrainCutsShortDoesNotLookWhole() throws {
    let upstream = try ScriptedUpstream { exchange in
      try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      _ = exchange.waitForHangUp(milliseconds: 60_000)
    }
    defer { upstream.stop() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port).replacing("5s", with: "300ms"))
    defer { gate.process.kill() }
    let client = try gate.connect()
    // Before HTTP/1.1 the end of the connection is all that tells the end of such an answer.
    try client.send("GET / HTTP/1.0\r\n\r\n")
    _ = try client.readHead()
    #expect(try client.readSome() == Array("hello".utf8))
    gate.process.signal(SIGTERM)
    #expect(throws: ConnectionReset.self) { try client.readSome() }
    #expect(gate.process.wait() == .exited(0))
  }

  @Test func aLogFileThatCannotBeOpenedAnewIsSaid() throws {
    try withProxy { gate, _ in
      let files = FileManager.default
      try files.moveItem(atPath: gate.folder.file("access.log"), toPath: gate.folder.file("moved.log"))
      try files.createDirectory(atPath: gate.folder.file("access.log"), withIntermediateDirectories: false)
      gate.process.signal(SIGUSR1)
      #expect(eventually { gate.log.contains("error access_log: the file cannot be opened anew (Is a directory)") }, "\(gate.log)")
      _ = try exchange(port: gate.port, Self.get)
      #expect(eventually { !gate.folder.read("moved.log").isEmpty })
    }
  }

  @Test func aDelayedDrainIsNotReadyButStillServes() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let gate = try GateProcess(
      """
      drain_delay: 2s
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
    defer { gate.process.kill() }
    gate.process.signal(SIGTERM)
    #expect(eventually { (try? gate.admin("/readyz").status) == 503 })
    #expect(try gate.admin("/healthz").status == 200)
    #expect(try exchange(port: gate.port, Self.get).text == "hello")
    #expect(gate.process.wait() == .exited(0))
  }

  @Test func aPortThatIsTakenIsSaidClearly() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let folder = try TemporaryFolder()
    let configuration = """
      listeners: [{bind: "127.0.0.1:\(upstream.port)"}]
      admin: {bind: "127.0.0.1:\(try FreePort.next())"}
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """
    let run = try CommandRun([GateProcess.binary, "serve", "--config", folder.write(configuration, to: "proxy.yaml")])
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("127.0.0.1:\(upstream.port)"))
  }
}
