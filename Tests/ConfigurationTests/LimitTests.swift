import Configuration
import EventLoop
import Exchange
import Testing

/// The keys that limit connections, bodies, rates and requests at once.
@Suite struct LimitTests {
  @Test func limitsHaveTheDefaultsOfTheContract() throws {
    let configuration = try load(sound())
    let listener = configuration.listeners[0]
    #expect(listener.connectionsMax == 20_000 && listener.connectionsPerAddressMax == 1_000)
    #expect(listener.requestsPerConnectionMax == 100_000 && listener.bodyBytesPerSecondMin == 1_024)
    #expect(listener.writeBytesPerSecondMin == 1_024)
    #expect(configuration.endpoints.addressRate == Rate(50, per: .second, burst: 200))
    #expect(configuration.endpoints.enrolmentRate == Rate(50, per: .second))
    #expect(configuration.routes[0].addressRate == nil && configuration.routes[0].policy.keyRate == nil)
    let upstream = configuration.upstreams[0]
    #expect(upstream.requestsMax == nil && upstream.queueMax == 0 && upstream.queueTimeoutMilliseconds == 2_000)
  }

  @Test func memoryIsWhatTheSystemAllowsUnlessSaidOtherwise() throws {
    #expect(try load(sound()).memory == .automatic && load(sound("memory_limit: auto")).memory == .automatic)
    #expect(try load(sound("memory_limit: off")).memory == .none)
    #expect(try load(sound("memory_limit: 512MiB")).memory == .bytes(512 << 20))
    #expect(try load(sound("memory_limit: 2GiB")).memory == .bytes(2 << 30))
  }

  @Test func anOpenRouteHasALimitOfItsBodiesWhereOneIsWritten() throws {
    let routes = try load(
      sound("routes: [{path: /a, upstream: orders, gate: {mode: off, max_body: 2KiB}}, {path: /**, upstream: orders, gate: off}]")
    ).routes
    #expect(routes.map(\.openBodyBytesMax) == [2_048, nil])
  }

  @Test func everyLimitIsTaken() throws {
    let configuration = try load(
      sound(
        "listeners: [{limits: {connections: 7, connections_per_address: 3, requests_per_connection: 9}, body_min_rate: 2KiB/s, "
          + "write_min_rate: 4KiB/s}]",
        "endpoints: {rate: {address: 5/m, enrolment: 100/h burst 7}}",
        "upstreams: {orders: {servers: [\"http://h\"], max_concurrent: 10, queue: {length: 20, timeout: 500ms}}}",
        "routes: [{path: /a, upstream: orders, gate: off, rate: {address: 50/s burst 200}}, "
          + "{path: /m, upstream: orders, gate: monitor, rate: {address: 1/s, key: 2/s}}, {path: /**, upstream: orders, rate: {key: 3/s}}]")
    )
    let listener = configuration.listeners[0]
    #expect(listener.connectionsMax == 7 && listener.connectionsPerAddressMax == 3)
    #expect(listener.requestsPerConnectionMax == 9 && listener.bodyBytesPerSecondMin == 2_048)
    #expect(listener.writeBytesPerSecondMin == 4_096)
    #expect(configuration.endpoints.addressRate == Rate(5, per: .minute, burst: 5))
    #expect(configuration.endpoints.enrolmentRate == Rate(100, per: .hour, burst: 7))
    let upstream = configuration.upstreams[0]
    #expect(upstream.requestsMax == 10 && upstream.queueMax == 20 && upstream.queueTimeoutMilliseconds == 500)
    #expect(configuration.routes.map(\.addressRate) == [Rate(50, per: .second, burst: 200), Rate(1, per: .second), nil])
    #expect(configuration.routes.map(\.policy.keyRate?.rate) == [nil, Rate(2, per: .second), Rate(3, per: .second)])
    // Two routes of one configuration do not share a bucket.
    #expect(configuration.routes[1].policy.keyRate?.scope != configuration.routes[2].policy.keyRate?.scope)
  }

  @Test func limitsThatMayBeOffCanBeSwitchedOff() throws {
    let all = try load(sound("endpoints: {rate: off}", "listeners: [{body_min_rate: off, write_min_rate: off}]"))
    #expect(all.endpoints.addressRate == nil && all.endpoints.enrolmentRate == nil && all.listeners[0].bodyBytesPerSecondMin == 0)
    #expect(all.listeners[0].writeBytesPerSecondMin == 0)
    let one = try load(sound("endpoints: {rate: {address: off}}"))
    #expect(one.endpoints.addressRate == nil && one.endpoints.enrolmentRate == Rate(50, per: .second))
    let queue = try load(sound("upstreams: {orders: {servers: [\"http://h\"], max_concurrent: 3, queue: 5}}"))
    #expect(queue.upstreams[0].queueMax == 5 && queue.upstreams[0].queueTimeoutMilliseconds == 2_000)
  }

  @Test(arguments: [
    (
      "listeners: [{limits: {connections: 0}}]", "5:36: listeners[0].limits.connections: must be a number from 1 to 1000000, and is \"0\""
    ),
    ("memory_limit: much", "5:15: memory_limit: must be auto, off or a size such as 512MiB or 2GiB, and is \"much\""),
    ("memory_limit: 1MiB", "5:15: memory_limit: must be from 64MiB to 1024GiB, and is \"1MiB\""),
    (
      "listeners: [{write_min_rate: 1}]", "5:30: listeners[0].write_min_rate: must be off or a size a second such as 1KiB/s, and is \"1\""
    ),
    (
      "listeners: [{body_min_rate: 1KiB}]",
      "5:29: listeners[0].body_min_rate: must be off or a size a second such as 1KiB/s, and is \"1KiB\""
    ),
    (
      "endpoints: {rate: 50/s}",
      "5:19: endpoints.rate: must be off or a section such as {address: 50/s burst 200, enrolment: 10/s}, and is \"50/s\""
    ),
    ("endpoints: {rate: {key: 1/s}}", "5:20: endpoints.rate.key: unknown key; known here: address, enrolment"),
    (
      "endpoints: {rate: {address: 50}}",
      "5:29: endpoints.rate.address: must be off or a rate such as 50/s, 600/m or \"10/s burst 20\", and is \"50\""
    ),
    (
      "endpoints: {rate: {address: 50/d}}",
      "5:29: endpoints.rate.address: must be off or a rate such as 50/s, 600/m or \"10/s burst 20\", and is \"50/d\""
    ),
    (
      "endpoints: {rate: {address: 50/s burst}}",
      "5:29: endpoints.rate.address: must be off or a rate such as 50/s, 600/m or \"10/s burst 20\", and is \"50/s burst\""
    ),
    ("endpoints: {rate: {address: 0/s}}", "5:29: endpoints.rate.address: must count from 1 to 1000000, and is \"0/s\""),
    (
      "endpoints: {rate: {address: 1/s burst 99999999999999999999}}",
      "5:29: endpoints.rate.address: must count from 1 to 1000000, and is \"1/s burst 99999999999999999999\""
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], max_concurrent: 2}}",
      "3:61: upstreams.orders.max_concurrent: is less than the number of workers, 3, each of which needs its share; raise it, or set workers"
    ),
    (
      "upstreams: {orders: {servers: [\"http://h\"], queue: 5}}",
      "3:52: upstreams.orders.queue: is for requests beyond max_concurrent, and there is none; set it"
    ),
    (
      "routes: [{path: /**, upstream: orders, gate: off, rate: {key: 1/s}}]",
      "4:63: routes[0].rate.key: limits verified keys, and a route with gate: off verifies none; use address"
    ),
    (
      "routes: [{path: /**, upstream: orders, rate: {address: 1/s}}]",
      "4:56: routes[0].rate.address: has no effect here: this route passes verified keys only, and these are never limited by address, "
        + "since many share one; use key"
    ),
  ])
  func aLimitThatMakesNoSenseIsTold(line: String, problem: String) {
    #expect(problems(sound(line)) == [problem])
  }
}
