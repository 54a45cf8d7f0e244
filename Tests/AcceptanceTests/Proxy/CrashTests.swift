import Fixtures
import Glibc
import Testing

/// What a gate that crashes says of the requests that it takes with it.
@Suite struct CrashTests {
  @Test(arguments: [("SIGSEGV", SIGSEGV), ("SIGBUS", SIGBUS), ("SIGILL", SIGILL), ("SIGABRT", SIGABRT)])
  func aCrashNamesTheRequestsThatWereServedAndDiesOfItsSignal(name: String, signal: Int32) throws {
    let release = Latch()
    let upstream = try ScriptedUpstream(ScriptedUpstream.holdingSlow(until: release))
    defer {
      release.open()
      upstream.stop()
    }
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """, listener: ["trusted_proxies: [127.0.0.0/8]"], workers: 2)
    defer { gate.process.kill() }
    let done = try gate.connect()
    #expect(try done.exchange("GET /done HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n").status == 200)
    // A request has ended when it has its line, which is later than its client's last byte.
    _ = try gate.accessLog(count: 1)
    let slow = try (0..<2).map { _ in try gate.connect() }
    for client in slow { try client.send("GET /slow HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n") }
    let named = try gate.connect()
    try named.send("GET /slow HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Request-Id: from-the-proxy\r\n\r\n")
    #expect(eventually { upstream.requests.count == 4 })
    gate.process.signal(signal)
    #expect(gate.process.wait() == .signalled(signal), "\(gate.log)")

    let identifiers = upstream.requests.compactMap { $0.message.value("X-Request-Id") }
    #expect(identifiers.count == 4 && identifiers.contains("from-the-proxy"))
    let lines = gate.log.split(separator: "\n").map(String.init)
    let first = " crashed: \(name) sent by process \(getpid()), thread "
    #expect(lines.contains { $0.hasPrefix("attestgate ") && $0.contains(first) }, "\(gate.log)")
    let reported = lines.filter { $0.hasPrefix("  request ") }.map { String($0.split(separator: " ")[1]) }
    #expect(Set(reported) == Set(identifiers.dropFirst()), "\(gate.log)")
    #expect(reported.count == 3)
    let backtrace = lines.drop { $0 != "backtrace:" }.dropFirst()
    #expect(backtrace.contains { $0.hasPrefix(GateProcess.binary) } && backtrace.count > 3, "\(gate.log)")
  }

  @Test func aCrashWithNothingToServeSaysSo() throws {
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:9"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
    defer { gate.process.kill() }
    #expect(try gate.connect().exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status < 300)
    _ = try gate.accessLog(count: 1)
    gate.process.signal(SIGSEGV)
    #expect(gate.process.wait() == .signalled(SIGSEGV))
    #expect(gate.log.contains("\nrequests being served:\n  none\nbacktrace:\n"), "\(gate.log)")
  }
}
