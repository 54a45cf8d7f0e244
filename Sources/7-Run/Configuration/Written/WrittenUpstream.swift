import Upstream

/// One entry of `upstreams:`.
struct WrittenUpstream {
  var name: Placed<String>
  var servers: Placed<[Placed<UpstreamSettings.Server>]>?
  var balance: Placed<UpstreamSettings.Balance>?
  var health: WrittenHealth?
  var resolveInterval: Placed<Int>?
  var tls: WrittenClientTLS?
  var host: Placed<UpstreamSettings.HostForm>?
  var connectTimeout: Placed<Int>?
  var responseTimeout: Placed<Int>?
  var idleTimeout: Placed<Int>?
  var maxConcurrent: Placed<Int>?
  var queue: Placed<Int>?
  var queueTimeout: Placed<Int>?
  var poolIdle: Placed<Int>?
  var poolIdleTimeout: Placed<Int>?
  var requestFields: WrittenFields
  var responseFields: WrittenFields

  init(_ entry: (name: Placed<String>, section: Section)) {
    let section = entry.section
    name = entry.name
    servers = section.list("servers", Address.server)
    if !section.has("servers") { section.missing("servers", "write at least one, such as [\"http://127.0.0.1:9000\"]") }
    balance = section.value("balance", oneOf(UpstreamSettings.Balance.allCases.map { ($0.rawValue, $0) }))
    health = WrittenHealth(section)
    resolveInterval = section.value("resolve_interval", Quantity.duration(1_000...86_400_000))
    tls = section.section("tls").map(WrittenClientTLS.init)
    host = section.value("host") { (text: String) throws(Wrong) -> UpstreamSettings.HostForm in
      switch text {
      case "pass": return .pass
      case "upstream": return .upstream
      default: return .literal(try Address.authority(text))
      }
    }
    connectTimeout = section.value("connect_timeout", Quantity.duration(10...300_000))
    responseTimeout = section.value("response_timeout", Quantity.duration(10...86_400_000))
    idleTimeout = section.value("idle_timeout", Quantity.duration(10...86_400_000))
    maxConcurrent = section.value("max_concurrent", Quantity.number(1...1_000_000))
    let waiting = section.wordOrSection("queue", Quantity.number(0...100_000))
    queue = waiting.word ?? waiting.section?.value("length", Quantity.number(0...100_000))
    queueTimeout = waiting.section?.value("timeout", Quantity.duration(10...300_000))
    waiting.section?.finish()
    let pool = section.section("pool")
    poolIdle = pool?.value("idle", Quantity.number(0...10_000))
    poolIdleTimeout = pool?.value("idle_timeout", Quantity.duration(10...86_400_000))
    pool?.finish()
    requestFields = WrittenFields(section.section("request_headers"))
    responseFields = WrittenFields(section.section("response_headers"))
    section.finish()
  }
}

/// `health:`, a path or a section.
struct WrittenHealth {
  var path: Placed<String>?
  var host: Placed<String>?
  var interval: Placed<Int>?
  var timeout: Placed<Int>?
  var healthy: Placed<Int>?
  var unhealthy: Placed<Int>?
  var statuses: Placed<ClosedRange<Int>>?

  /// Nil when the upstream has none.
  init?(_ upstream: Section) {
    let written = upstream.wordOrSection("health", HealthText.path)
    path = written.word
    guard let section = written.section else {
      if path == nil { return nil }
      return
    }
    path = section.value("path", HealthText.path)
    host = section.value("host", Address.authority)
    interval = section.value("interval", Quantity.duration(100...3_600_000))
    timeout = section.value("timeout", Quantity.duration(10...300_000))
    healthy = section.value("healthy", Quantity.number(1...100))
    unhealthy = section.value("unhealthy", Quantity.number(1...100))
    statuses = section.value("status", HealthText.statuses)
    section.finish()
  }
}

/// `request_headers:` or `response_headers:`.
struct WrittenFields {
  var set: [(name: Placed<String>, value: Placed<String>)] = []
  var removed: [Placed<String>] = []

  init(_ section: Section?) {
    guard let section else { return }
    let values = section.section("set")
    set = values?.namedValues() ?? []
    removed = section.list("remove") { $0 }?.value ?? []
    section.finish()
  }
}
