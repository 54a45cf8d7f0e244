import Configuration
import Testing
import Upstream

/// The keys that say how an upstream's servers are chosen, checked and looked up.
@Suite struct ServerTests {
  private func upstream(_ keys: String, servers: String = "\"http://api.internal\"") -> String {
    sound("upstreams: {orders: {servers: [\(servers)], \(keys)}}")
  }

  private func settings(_ keys: String) throws -> UpstreamSettings { try load(upstream(keys)).upstreams[0] }

  @Test func serversHaveTheDefaultsOfTheContract() throws {
    let settings = try load(sound()).upstreams[0]
    #expect(settings.balance == .roundRobin && settings.health == nil && settings.resolveIntervalMilliseconds == 30_000)
  }

  @Test func everyKeyIsTaken() throws {
    let settings = try settings(
      "balance: least_connections, resolve_interval: 5s, health: {path: /up?a=b, host: h.example:81, interval: 10s, timeout: 3s, "
        + "healthy: 4, unhealthy: 5, status: 200-204}")
    #expect(settings.balance == .leastConnections && settings.resolveIntervalMilliseconds == 5_000)
    var check = HealthCheck(path: "/up?a=b")
    check.host = "h.example:81"
    check.intervalMilliseconds = 10_000
    check.timeoutMilliseconds = 3_000
    check.healthyCount = 4
    check.unhealthyCount = 5
    check.statuses = 200...204
    #expect(settings.health == check)
  }

  @Test func aPathAloneIsACheckWithItsDefaults() throws {
    #expect(try settings("health: /healthz").health == HealthCheck(path: "/healthz"))
    var check = HealthCheck()
    check.intervalMilliseconds = 1_000
    check.timeoutMilliseconds = 1_000
    #expect(try settings("health: {interval: 1s}").health == check)
    #expect(try settings("health: {path: /a, status: 204}").health?.statuses == 204...204)
  }

  @Test func aCheckAsksForTheHostThatRequestsAskFor() throws {
    #expect(try settings("host: shop.example, health: /a").health?.host == "shop.example")
    #expect(try settings("host: shop.example, health: {path: /a, host: b.example}").health?.host == "b.example")
    #expect(try settings("host: upstream, health: /a").health?.host == nil)
  }

  @Test(arguments: [
    ("balance: random", "balance: must be round_robin or least_connections, and is \"random\""),
    ("health: healthz", "health: must be a path such as /healthz, and is \"healthz\""),
    (
      "health: {path: \"/a b\"}",
      "health.path: must be of ASCII without spaces, controls and \"#\"; write other characters as %20 and the like"
    ),
    ("health: {intervall: 1s}", "health.intervall: unknown key; did you mean \"interval\"?"),
    (
      "health: {path: /a, timeout: 6s}",
      "health.timeout: is longer than the interval from one check to the next; shorten it or raise interval"
    ),
    ("health: {path: /a, interval: 1ms}", "health.interval: must be from 100ms to 1h, and is \"1ms\""),
    ("health: {path: /a, unhealthy: 0}", "health.unhealthy: must be a number from 1 to 100, and is \"0\""),
    (
      "health: {path: /a, status: 2xx}",
      "health.status: must be a status or a range within 200 to 599, such as 200 or 200-399, and is \"2xx\""
    ),
    (
      "health: {path: /a, status: 300-200}",
      "health.status: must be a status or a range within 200 to 599, such as 200 or 200-399, and is \"300-200\""
    ),
    ("health: {status: 200}", "health.status: is for a check that asks for something, and there is no path; write one"),
    ("health: {host: a.example}", "health.host: is for a check that asks for something, and there is no path; write one"),
    ("resolve_interval: 10ms", "resolve_interval: must be from 1s to 24h, and is \"10ms\""),
  ])
  func aKeyThatMakesNoSenseIsTold(keys: String, problem: String) {
    let found = problems(upstream(keys)).map { $0.split(separator: " ", maxSplits: 1)[1] }
    #expect(found == ["upstreams.orders.\(problem)"])
  }

  @Test func addressesAreNotLookedUp() {
    let found = problems(upstream("resolve_interval: 10s", servers: "\"http://127.0.0.1:1\", \"unix:/run/a.sock\""))
    #expect(found.count == 1 && found[0].hasSuffix("is for servers that are named, and all of these are addresses; remove it"))
  }

  @Test func theSummaryShowsWhatIsNotTheDefault() throws {
    func line(_ keys: String) throws -> String? {
      try ConfigurationSummary(load(upstream(keys))).text.split(separator: "\n").first { $0.hasPrefix("upstream ") }.map(String.init)
    }
    #expect(try line("pool: {idle: 1}")?.hasSuffix("orders: http://api.internal:80") == true)
    #expect(
      try line("balance: least_connections, health: /up")?.hasSuffix("http://api.internal:80 (least connections, checks /up every 5s)")
        == true)
    #expect(try line("health: {interval: 90s}")?.hasSuffix("http://api.internal:80 (checks the connection every 90s)") == true)
  }
}
