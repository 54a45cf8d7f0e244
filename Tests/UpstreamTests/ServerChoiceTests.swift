import EventLoop
import Fixtures
import Testing

@testable import Upstream

/// Which of several servers gets the next request.
@Suite struct ServerChoiceTests {
  /// Pools of so many servers; none of them is connected to.
  private static func pools(_ count: Int, on stage: isolated UpstreamStage) -> [ServerPool] {
    let settings = UpstreamSettings(
      name: "api", servers: (0..<count).map { UpstreamSettings.Server(host: "127.0.0.1", port: UInt16(9_000 + $0)) })
    return stage.servers(settings).all.map {
      ServerPool($0, settings: settings, loop: stage.loop, metrics: UpstreamMetrics(registry: stage.registry, upstream: "api"))
    }
  }

  /// How often each server is chosen in so many turns.
  private static func counts(
    _ choice: inout ServerChoice, _ pools: [ServerPool], turns: Int, besides tried: [ServerPool] = [], on stage: isolated UpstreamStage
  ) -> [Int] {
    var counts = pools.map { _ in 0 }
    for _ in 0..<turns {
      guard let chosen = choice.next(of: pools, besides: tried, now: stage.loop.now) else { continue }
      for index in pools.indices where pools[index] === chosen { counts[index] += 1 }
    }
    return counts
  }

  @Test func serversThatAreOutGetNothingAsLongAsThereIsAnother() async throws {
    try await UpstreamStage.run { stage in
      let pools = Self.pools(3, on: stage)
      pools[1].state.noteUnreachable("refused", now: stage.loop.now)
      for balance in UpstreamSettings.Balance.allCases {
        var choice = ServerChoice(balance, seed: 1)
        let counts = Self.counts(&choice, pools, turns: 100, on: stage)
        #expect(counts[1] == 0 && counts[0] >= 20 && counts[2] >= 20)
        #expect(Self.counts(&choice, pools, turns: 10, besides: [pools[0]], on: stage) == [0, 0, 10])
        // The last resort.
        #expect(Self.counts(&choice, pools, turns: 10, besides: [pools[0], pools[2]], on: stage) == [0, 10, 0])
        #expect(Self.counts(&choice, pools, turns: 10, besides: pools, on: stage) == [0, 0, 0])
      }
    }
  }

  @Test func whenEveryServerIsOutTheyTakeTurns() async throws {
    try await UpstreamStage.run { stage in
      let pools = Self.pools(3, on: stage)
      for pool in pools { pool.state.noteCheck(failure: "503", of: HealthCheck()) }
      for balance in UpstreamSettings.Balance.allCases {
        var choice = ServerChoice(balance, seed: 1)
        #expect(Self.counts(&choice, pools, turns: 30, on: stage) == [10, 10, 10])
      }
    }
  }

  @Test func theIdlerOfTwoIsChosenAndNeverTheBusiestOfAll() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let settings = stage.settings(upstream.port, upstream.port, upstream.port)
      let metrics = UpstreamMetrics(registry: stage.registry, upstream: "api")
      let pools = stage.servers(settings).all.map { ServerPool($0, settings: settings, loop: stage.loop, metrics: metrics) }
      var lent: [UpstreamConnection] = []
      for (pool, count) in zip(pools, [1, 0, 2]) {
        for _ in 0..<count { lent.append(try await pool.connect(until: .never)) }
      }
      #expect(pools.map(\.requestCount) == [1, 0, 2])
      var choice = ServerChoice(.leastConnections, seed: 1)
      let counts = Self.counts(&choice, pools, turns: 300, on: stage)
      // Of the three pairs, two have the idlest one.
      #expect(counts[2] == 0 && counts[1] > counts[0] && counts[0] > 50)
      for connection in lent { connection.server.giveBack(connection, isReusable: false) }
      #expect(pools.map(\.requestCount) == [0, 0, 0])
    }
  }

  @Test func serversWithEquallyManyRequestsShareThem() async throws {
    try await UpstreamStage.run { stage in
      var choice = ServerChoice(.leastConnections, seed: 7)
      let counts = Self.counts(&choice, Self.pools(4, on: stage), turns: 4_000, on: stage)
      #expect(counts.allSatisfy { 850...1_150 ~= $0 }, "\(counts)")
    }
  }
}
