import EventLoop
import Fixtures
import Telemetry
import Testing

@testable import Upstream

/// What takes a server out, what brings it back, and what an operator hears of it.
@Suite struct ServerStateTests {
  private static let now = Instant(nanoseconds: 1_000_000_000_000)
  private static let later = now.advanced(byMilliseconds: 10_000)

  /// One server, with its metrics and its log.
  private struct Stage {
    let registry = MetricRegistry()
    let folder: TemporaryFolder
    let log: LogWriter
    let server: ServerState
    var check = HealthCheck(path: "/healthz")

    init() throws {
      folder = try TemporaryFolder()
      log = try LogWriter(.file(folder.file("log")))
      let settings = UpstreamSettings(name: "api", servers: [.init(host: "127.0.0.1", port: 9_000)])
      server = UpstreamServers(settings, registry: registry, diagnostics: Diagnostics(log)).all[0]
    }

    /// The log, each line without its time.
    func lines() -> [String] {
      log.finish()
      return folder.read("log").split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1).last.map(String.init) ?? "" }
    }

    func value(_ family: String, _ labels: MetricLabel...) -> Double? { registry.value(family, labels) }

    func checks(_ results: Bool...) {
      for passed in results { server.noteCheck(failure: passed ? nil : "it answered 503", of: check) }
    }
  }

  @Test func soManyFailedChecksInARowTakeAServerOutAndSoManyPassedOnesBringItBack() throws {
    let stage = try Stage()
    stage.checks(true, false, false, true, false, false)
    #expect(stage.server.condition == .up)
    stage.checks(false)
    #expect(stage.server.condition == .unhealthy)
    #expect(!stage.server.isAvailable(at: Self.later))
    stage.checks(true, false, true)
    #expect(stage.server.condition == .unhealthy)
    stage.checks(true)
    #expect(stage.server.condition == .up)
    #expect(stage.server.isAvailable(at: Self.now))
    #expect(
      stage.lines() == [
        "warning upstream api: server 127.0.0.1:9000 is unhealthy: it answered 503; it gets no requests until it passes its health checks",
        "notice upstream api: server 127.0.0.1:9000 is up again: it passed its health checks",
      ])
    #expect(stage.value("attestgate_upstream_ejections_total", MetricLabel("reason", "health")) == 1)
  }

  @Test func theFirstCheckOfAServerDecidesAlone() throws {
    let stage = try Stage()
    stage.checks(false)
    #expect(stage.server.condition == .unhealthy)
    stage.checks(true)
    #expect(stage.server.condition == .unhealthy)
  }

  @Test func aServerThatCannotBeReachedIsTriedByOneAfterThePause() throws {
    let stage = try Stage()
    for _ in 0..<3 { stage.server.noteUnreachable("connection refused", now: Self.now) }
    #expect(stage.server.condition == .down)
    #expect(!stage.server.isAvailable(at: Self.now))
    #expect(!stage.server.claimTrial(now: Self.now, until: Self.later))
    #expect(stage.server.isAvailable(at: Self.later))
    #expect(stage.server.claimTrial(now: Self.later, until: Self.later.advanced(byMilliseconds: 50)))
    #expect(stage.server.condition == .halfOpen)
    #expect(!stage.server.claimTrial(now: Self.later, until: Self.later.advanced(byMilliseconds: 50)))
    // Nobody heard of the trial any more: another one tries.
    #expect(stage.server.claimTrial(now: Self.later.advanced(byMilliseconds: 50), until: .never))
    stage.server.noteReached()
    #expect(stage.server.condition == .up)
    #expect(stage.server.isAvailable(at: Self.now))
    #expect(
      stage.lines() == [
        "warning upstream api: server 127.0.0.1:9000 is down: connection refused; it is passed over for 10 s, then one request tries it",
        "notice upstream api: server 127.0.0.1:9000 is up again",
      ])
    #expect(stage.value("attestgate_upstream_ejections_total", MetricLabel("reason", "connect")) == 1)
  }

  @Test func aCheckThatPassesEndsThePauseAfterAFailure() throws {
    let stage = try Stage()
    stage.server.noteUnreachable("connection refused", now: Self.now)
    stage.checks(true)
    #expect(stage.server.condition == .up)
    #expect(stage.server.isAvailable(at: Self.now))
  }

  @Test func whoeverReachesAnUnhealthyServerDoesNotMakeItHealthy() throws {
    let stage = try Stage()
    stage.checks(false)
    stage.server.noteUnreachable("connection refused", now: Self.now)
    stage.server.noteReached()
    #expect(stage.server.condition == .unhealthy)
    // It got no requests anyway: nothing is told twice.
    #expect(stage.lines().count == 1)
    #expect(stage.value("attestgate_upstream_ejections_total", MetricLabel("reason", "connect")) == 0)
    #expect(!stage.server.claimTrial(now: Self.later, until: .never))
  }

  @Test func theMetricsShowTheOneStateThatItIsIn() throws {
    let stage = try Stage()
    func states() -> [String] {
      ServerState.Condition.allCases.map(\.rawValue).filter {
        stage.value("attestgate_upstream_server_state", MetricLabel("server", "127.0.0.1:9000"), MetricLabel("state", $0)) == 1
      }
    }
    func up() -> Double? { stage.value("attestgate_upstream_server_up", MetricLabel("server", "127.0.0.1:9000")) }
    #expect(states() == ["up"] && up() == 1)
    stage.server.noteUnreachable("connection refused", now: Self.now)
    #expect(states() == ["down"] && up() == 0)
    _ = stage.server.claimTrial(now: Self.later, until: .never)
    #expect(states() == ["half_open"] && up() == 0)
    stage.checks(false)
    #expect(states() == ["unhealthy"] && up() == 0)
    stage.checks(true, true)
    #expect(states() == ["up"] && up() == 1)
    stage.server.retire()
    #expect(states() == [] && up() == nil)
    stage.server.noteUnreachable("connection refused", now: Self.now)
    #expect(states() == [] && up() == nil)
  }
}
