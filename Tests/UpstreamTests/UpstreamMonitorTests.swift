import Fixtures
import Synchronization
import Telemetry
import Testing

@testable import EventLoop
@testable import Upstream

/// Names that are looked up anew, and servers that are asked whether they are well.
@Suite struct UpstreamMonitorTests {
  /// A name server whose answer a test changes; it answers with addresses 127.0.0.n.
  private final class NameServer: Sendable {
    private let state: Mutex<(numbers: [UInt8], questions: Int)>
    let mayAnswer = Latch()

    init(_ numbers: UInt8..., isOpen: Bool = true) {
      state = Mutex((numbers, 0))
      if isOpen { mayAnswer.open() }
    }

    var questions: Int { state.withLock { $0.questions } }
    func answer(_ numbers: UInt8...) { state.withLock { $0.numbers = numbers } }

    func resolver() -> NameResolver {
      NameResolver { _, port in
        self.mayAnswer.wait()
        return self.state.withLock { state in
          state.questions += 1
          return state.numbers.map { SocketAddress(host: "127.0.0.\($0)", port: port)! }
        }
      }
    }
  }

  private static func settings(_ port: UInt16, intervalMilliseconds: Int = 20) -> UpstreamSettings {
    var settings = UpstreamSettings(name: "api", servers: [.init(host: "api.internal", port: port)])
    settings.resolveIntervalMilliseconds = intervalMilliseconds
    return settings
  }

  /// Starts a monitor, and ends its loop behind `body`.
  private static func watching(
    _ servers: UpstreamServers, by names: NameServer? = nil, on stage: isolated UpstreamStage,
    _ body: (isolated UpstreamStage) async throws -> Void
  ) async throws {
    try #require(UpstreamMonitor.isNeeded(for: [servers.settings]))
    let monitor = UpstreamMonitor(resolver: names?.resolver() ?? NameResolver())
    defer { monitor.loop.stop() }
    await monitor.follow([servers])
    try await body(stage)
  }

  /// Servers at the same port of 127.0.0.1 and further addresses.
  private static func upstreams(_ count: UInt8) throws -> [ScriptedUpstream] {
    let first = try ScriptedUpstream(port: try FreePort.next())
    return [first] + (try (2...count).map { try ScriptedUpstream(port: first.port, loopback: $0) })
  }

  @Test func everyAddressOfANameIsAServerOfItsOwn() async throws {
    let upstreams = try Self.upstreams(2)
    defer { for upstream in upstreams { upstream.stop() } }
    let port = upstreams[0].port
    try await UpstreamStage.run { stage in
      let servers = stage.servers(Self.settings(port))
      try await Self.watching(servers, by: NameServer(1, 2), on: stage) { stage in
        let group = stage.group(servers)
        var names: Set<String> = []
        for _ in 0..<4 {
          let request = stage.request()
          #expect(await stage.exchange(group, request).hasSuffix("hello"))
          names.insert(request.serverName ?? "")
        }
        #expect(names == ["api.internal:\(port)/127.0.0.1", "api.internal:\(port)/127.0.0.2"])
        for name in names { #expect(stage.value("attestgate_upstream_server_up", MetricLabel("server", name)) == 1) }
        group.closeIdle()
      }
    }
    #expect(upstreams.map(\.requests.count) == [2, 2])
  }

  @Test func requestsFollowANameToItsNewAddress() async throws {
    let upstreams = try Self.upstreams(3)
    defer { for upstream in upstreams { upstream.stop() } }
    let port = upstreams[0].port
    try await UpstreamStage.run { stage in
      let names = NameServer(1, 2)
      let servers = stage.servers(Self.settings(port))
      try await Self.watching(servers, by: names, on: stage) { stage in
        let group = stage.group(servers)
        // One connection to each, and a second one that stays under way at 127.0.0.1.
        for _ in 0..<2 { await stage.exchange(group, stage.request()) }
        let underWay = try await group.forward(stage.request(), admission: stage.admission())
        #expect(underWay.serverName.hasSuffix("/127.0.0.1"))
        let known = servers.all[1]
        names.answer(3, 2)
        #expect(await stage.holds { servers.all.count == 2 && servers.all[1].address.host == "127.0.0.3" })
        // What is known of the address that stayed is still known.
        #expect(servers.all[0] === known)
        group.sweep()
        #expect(stage.gauge("idle") == 1)
        #expect(stage.gauge("active") == 1)
        group.giveBack(underWay, isReusable: true)
        #expect(!underWay.socket.isOpen)
        #expect(stage.gauge("idle") == 1)
        #expect(stage.value("attestgate_upstream_server_up", MetricLabel("server", "api.internal:\(port)/127.0.0.1")) == nil)
        #expect(stage.value("attestgate_upstream_server_up", MetricLabel("server", "api.internal:\(port)/127.0.0.3")) == 1)
        for _ in 0..<4 { #expect(await stage.exchange(group, stage.request()).hasSuffix("hello")) }
        group.closeIdle()
      }
    }
    #expect(upstreams.map(\.requests.count) == [2, 3, 2])
  }

  @Test func whatANameHadIsKnownToTheUpstreamThatComesInItsPlaceUntilItIsLookedUpThere() async throws {
    let upstream = try ScriptedUpstream(port: try FreePort.next())
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let former = stage.servers(Self.settings(upstream.port))
      try await Self.watching(former, by: NameServer(1), on: stage) { stage in
        #expect(await stage.holds { former.all.count == 1 })
      }
      former.retire()
      // The name server does not answer any more.
      let settings = Self.settings(upstream.port, intervalMilliseconds: 30)
      let servers = UpstreamServers(settings, registry: stage.processRegistry, former: [former])
      let silent = NameServer(1, isOpen: false)
      try await Self.watching(servers, by: silent, on: stage) { stage in
        let group = stage.group(servers)
        #expect(await stage.exchange(group, stage.request()).hasSuffix("hello"))
        let name = "api.internal:\(upstream.port)/127.0.0.1"
        #expect(stage.value("attestgate_upstream_server_up", MetricLabel("server", name)) == 1)
        silent.mayAnswer.open()
        group.closeIdle()
      }
    }
  }

  @Test func theFirstLookUpIsForThoseWhoWaitForItThoughTheUpstreamIsGone() async throws {
    let upstream = try ScriptedUpstream(port: try FreePort.next())
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let names = NameServer(1, isOpen: false)
      let servers = stage.servers(Self.settings(upstream.port))
      try await Self.watching(servers, by: names, on: stage) { stage in
        let group = stage.group(servers)
        servers.retire()
        names.mayAnswer.open()
        #expect(await stage.exchange(group, stage.request()).hasSuffix("hello"))
        let name = "api.internal:\(upstream.port)/127.0.0.1"
        #expect(stage.value("attestgate_upstream_server_up", MetricLabel("server", name)) == nil)
        group.closeIdle()
      }
    }
  }

  @Test func aNameServerThatFailsTakesNothingAway() async throws {
    let upstream = try ScriptedUpstream(port: try FreePort.next())
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let names = NameServer(1)
      let servers = stage.servers(Self.settings(upstream.port))
      try await Self.watching(servers, by: names, on: stage) { stage in
        #expect(await stage.holds { servers.all.count == 1 })
        names.answer()
        #expect(await stage.holds { stage.processRegistry.value("attestgate_upstream_lookup_failures_total", []) ?? 0 > 1 })
        let group = stage.group(servers)
        #expect(await stage.exchange(group, stage.request()).hasSuffix("hello"))
        group.closeIdle()
      }
    }
  }

  @Test func requestsWaitForTheFirstLookUpAndForNoOther() async throws {
    let upstream = try ScriptedUpstream(port: try FreePort.next())
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let names = NameServer(1, isOpen: false)
      var settings = Self.settings(upstream.port, intervalMilliseconds: 60_000)
      settings.connectTimeoutMilliseconds = 100
      let hasty = stage.servers(settings)
      settings.connectTimeoutMilliseconds = 60_000
      let servers = stage.servers(settings)
      try await Self.watching(servers, by: names, on: stage) { stage in
        // Half of the time for a connection, and no longer.
        #expect(await stage.failure(stage.group(hasty), stage.request()) == .unresolved)
        let group = stage.group(servers)
        names.mayAnswer.open()
        #expect(await stage.exchange(group, stage.request()).hasSuffix("hello"))
        group.closeIdle()
      }
    }
  }

  @Test func whereANameHasNoAddressNobodyWaits() async throws {
    try await UpstreamStage.run { stage in
      var settings = Self.settings(80)
      settings.connectTimeoutMilliseconds = 60_000
      let servers = stage.servers(settings)
      try await Self.watching(servers, by: NameServer(), on: stage) { stage in
        let group = stage.group(servers)
        for _ in 0..<2 { #expect(await stage.failure(group, stage.request()) == .unresolved) }
      }
    }
  }

  @Test func anAddressThatDoesNotServeIsLookedUpBeforeItsTime() async throws {
    let port = try FreePort.next()
    try await UpstreamStage.run { stage in
      let names = NameServer(1)
      let servers = stage.servers(Self.settings(port, intervalMilliseconds: 3_600_000))
      try await Self.watching(servers, by: names, on: stage) { stage in
        let group = stage.group(servers)
        #expect(await stage.failure(group, stage.request()) == .unreachable(.failed(111)))
        #expect(await stage.holds { names.questions == 2 })
      }
    }
  }

  @Test func noMoreAddressesAreUsedThanTheLimit() async throws {
    try await UpstreamStage.run { stage in
      let servers = stage.servers(Self.settings(80))
      let many = (1...200).map { SocketAddress(host: "127.0.0.\($0)", port: 80)! }
      #expect(servers.take(many, of: servers.names[0]).joined.count == UpstreamServers.addressesMax)
      #expect(servers.take(many.reversed(), of: servers.names[0]).left.count == UpstreamServers.addressesMax)
      #expect(servers.all.count == UpstreamServers.addressesMax)
      let shown = stage.processRegistry.allSeries().filter { $0.family.name == "attestgate_upstream_server_up" }
      #expect(shown.count == UpstreamServers.addressesMax)
    }
  }

  @Test func requestsLeaveAServerThatFailsItsChecksAndComeBack() async throws {
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
    @Sendable func servedBySick() -> Int { sick.requests.count { $0.message.target == "/" } }
    try await UpstreamStage.run { stage in
      var settings = stage.settings(sick.port, well.port)
      settings.health = HealthCheck(path: "/healthz")
      settings.health?.intervalMilliseconds = 10
      let servers = stage.servers(settings)
      try await Self.watching(servers, on: stage) { stage in
        let group = stage.group(servers)
        for _ in 0..<4 { await stage.exchange(group, stage.request()) }
        #expect(servedBySick() == 2)
        // The first check decides alone. Once a second is asked the first was noted, and from then on it takes three.
        #expect(await stage.holds { sick.requests.count { $0.message.target == "/healthz" } >= 2 })
        isWell.store(false, ordering: .relaxed)
        #expect(await stage.holds { servers.all[0].condition == .unhealthy })
        for _ in 0..<4 { #expect(await stage.exchange(group, stage.request()).hasSuffix("hello")) }
        #expect(servedBySick() == 2)
        isWell.store(true, ordering: .relaxed)
        #expect(await stage.holds { servers.all[0].condition == .up })
        for _ in 0..<4 { await stage.exchange(group, stage.request()) }
        #expect(servedBySick() == 4)
        #expect(stage.value("attestgate_upstream_health_checks_total", MetricLabel("result", "failed")) ?? 0 >= 3)
        #expect(stage.value("attestgate_upstream_ejections_total", MetricLabel("reason", "health")) == 1)
        group.closeIdle()
      }
    }
  }

  @Test func anUpstreamOfAddressesThatAreNotCheckedNeedsNoMonitor() async throws {
    try await UpstreamStage.run { stage in
      #expect(!UpstreamMonitor.isNeeded(for: [stage.settings(80)]))
    }
  }
}
