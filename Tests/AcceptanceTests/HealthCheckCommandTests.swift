import Fixtures
import Foundation
import Testing

/// `attestgate healthcheck`, beside the built gate, and beside servers that are none.
@Suite struct HealthCheckCommandTests {
  private static func healthCheck(_ arguments: String...) throws -> CommandRun {
    try CommandRun([GateProcess.binary, "healthcheck"] + arguments)
  }

  @Test func aGateThatServesIsReady() throws {
    try withProxy { gate, upstream in
      let ready = try Self.healthCheck("http://127.0.0.1:\(gate.adminPort)/readyz")
      #expect(ready.succeeded, "\(ready.errors)")
      #expect(ready.text.contains("\"ready\":true"))
      #expect(ready.text.hasSuffix("}\n"))
      let alive = try Self.healthCheck("http://localhost:\(gate.adminPort)/healthz", "--timeout", "10")
      #expect(alive.text == "ok\n", "\(alive.errors)")
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func aGateThatDrainsIsNotReady() throws {
    let gate = try GateProcess(
      """
      drain_delay: 60s
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:1"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
    defer { gate.process.kill() }
    gate.process.signal(SIGTERM)
    #expect(eventually { !gate.isReadyNow })
    let run = try Self.healthCheck("http://127.0.0.1:\(gate.adminPort)/readyz")
    #expect(run.end == .exited(1))
    #expect(run.text.isEmpty)
    #expect(run.errors.hasPrefix("attestgate healthcheck: /readyz answers 503: {\"ready\":false,\"state\":\"draining\""), "\(run.errors)")
  }

  @Test func anotherPathOfTheAdminListenerIsNotReadiness() throws {
    try withProxy { gate, _ in
      let run = try Self.healthCheck("http://127.0.0.1:\(gate.adminPort)")
      #expect(run.end == .exited(1))
      #expect(run.errors == "attestgate healthcheck: / answers 404: there is /healthz, /readyz and /metrics\n")
    }
  }

  @Test func nobodyThereIsNotReady() throws {
    let run = try Self.healthCheck("http://127.0.0.1:\(try FreePort.next())/readyz")
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("refuses connections"), "\(run.errors)")
  }

  @Test func aServerThatNeverComesToItsAnswerIsNotReady() throws {
    let server = try ScriptedUpstream { exchange in
      while true { try exchange.send(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 500)) }
    }
    defer { server.stop() }
    let run = try Self.healthCheck("http://127.0.0.1:\(server.port)/readyz", "--timeout", "1")
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("does not answer in time"), "\(run.errors)")
  }

  /// A Docker health check that waits for a hung gate must end, and say so.
  @Test func aServerThatDoesNotAnswerIsNotReady() throws {
    let server = try ScriptedUpstream { exchange in _ = exchange.waitForHangUp(milliseconds: 30_000) }
    defer { server.stop() }
    let run = try Self.healthCheck("http://127.0.0.1:\(server.port)/readyz", "--timeout", "1")
    #expect(run.end == .exited(1))
    #expect(run.errors == "attestgate healthcheck: 127.0.0.1:\(server.port) does not answer in time\n")
  }

  @Test func onlyTheFirstLineOfAnAnswerIsShownAndWhatATerminalWouldObeyIsNot() throws {
    let server = try ScriptedUpstream { try $0.answer("\u{1B}[2J\(String(repeating: "x", count: 5_000))\nmore") }
    defer { server.stop() }
    let run = try Self.healthCheck("http://127.0.0.1:\(server.port)/")
    #expect(run.succeeded)
    #expect(run.text.hasPrefix("\\u{1b}[2Jxxx"))
    #expect(run.text.count < 600)
    #expect(!run.text.contains("more"))
  }

  @Test func theHelpSaysWhereItAsks() throws {
    let run = try Self.healthCheck("--help")
    #expect(run.succeeded)
    #expect(run.text.contains("http://127.0.0.1:9901/readyz"))
  }

  @Test(arguments: [["https://127.0.0.1:9901/readyz"], ["127.0.0.1:9901"], ["--timeout", "0"], ["--timeout", "soon"], ["a", "b"]])
  func wrongUsageIsExit2(arguments: [String]) throws {
    let run = try CommandRun([GateProcess.binary, "healthcheck"] + arguments)
    #expect(run.end == .exited(2))
    #expect(run.errors.contains("usage: attestgate healthcheck [options] [URL]"))
  }
}
