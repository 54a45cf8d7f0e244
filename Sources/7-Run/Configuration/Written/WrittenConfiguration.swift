import Exchange

/// proxy.yaml as it was written: what is absent is nil, what is there knows its place. What it means is said by ``Meaning``.
struct WrittenConfiguration {
  var place: Place
  /// Zero for `auto`.
  var workers: Placed<Int>?
  var listeners: [WrittenListener]?
  var admin: WrittenAdmin?
  var drainDelay: Placed<Int>?
  var drainTimeout: Placed<Int>?
  var memoryLimit: Placed<Configuration.MemoryBound>?
  var accessLog: Placed<Configuration.AccessLog>?
  var store: WrittenStore?
  var apps: [WrittenApp]
  /// Whether no app was meant to be there, in contrast to one that could not be read.
  var lacksApps: Bool
  var assertTTL: Placed<Int>?
  var attestTTL: Placed<Int>?
  var endpoints: WrittenEndpoints?
  var upstreams: [WrittenUpstream]
  var routes: [WrittenRoute]

  init(_ section: Section) {
    place = section.place
    workers = section.value("workers") { (text: String) throws(Wrong) -> Int in
      text == "auto" ? 0 : try Quantity.number(1...256)(text)
    }
    listeners = section.sections("listeners")?.map(WrittenListener.init)
    if section.has("listeners"), listeners?.isEmpty == true {
      section.problems.add(section.placeOf("listeners"), "listeners", "has no entry; remove the key to listen at 127.0.0.1:8080")
    }
    admin = section.section("admin").map(WrittenAdmin.init)
    drainDelay = section.value("drain_delay", Quantity.duration(0...600_000))
    drainTimeout = section.value("drain_timeout", Quantity.duration(0...3_600_000))
    memoryLimit = section.value("memory_limit", Self.memoryLimit)
    accessLog = section.value("access_log", Self.accessLog)
    store = section.section("store").map(WrittenStore.init)
    if !section.has("store") { section.missing("store", "write redis: {url: \"redis://127.0.0.1:6379/0\"} under it, or memory: {}") }
    apps = section.sections("apps")?.map(WrittenApp.init) ?? []
    lacksApps = !section.has("apps") || section.isEmptyList("apps")
    let challenges = section.section("challenges")
    assertTTL = challenges?.value("assert_ttl", Quantity.duration(1_000...86_400_000))
    attestTTL = challenges?.value("attest_ttl", Quantity.duration(1_000...86_400_000))
    challenges?.finish()
    endpoints = section.section("endpoints").map(WrittenEndpoints.init)
    upstreams = section.section("upstreams")?.namedSections().map(WrittenUpstream.init) ?? []
    if !section.has("upstreams") { section.missing("upstreams", "name at least one, such as api: {servers: [\"http://127.0.0.1:9000\"]}") }
    routes = section.sections("routes")?.map(WrittenRoute.init) ?? []
    if !section.has("routes") { section.missing("routes", "without one every request is answered 404") }
    section.finish()
  }

  private static func memoryLimit(_ text: String) throws(Wrong) -> Configuration.MemoryBound {
    switch text {
    case "auto": return .automatic
    case "off": return .none
    default:
      guard text.first?.isNumber == true else { throw Wrong("must be auto, off or a size such as 512MiB or 2GiB, and is \"\(text)\"") }
      return .bytes(try Quantity.size(64 << 20...1 << 40)(text))
    }
  }

  private static func accessLog(_ text: String) throws(Wrong) -> Configuration.AccessLog {
    switch text {
    case "stdout": return .standardOutput
    case "off": return .off
    default:
      guard text.contains("/"), !text.hasSuffix("/") else {
        throw Wrong("must be stdout, off or a file's path with a slash, such as ./access.log, and is \"\(text)\"")
      }
      return .file(text)
    }
  }
}

/// `admin:`.
struct WrittenAdmin {
  var place: Place
  var path: String
  var bind: Placed<BindAddress>?

  init(_ section: Section) {
    place = section.place
    path = section.path
    bind = section.value("bind", Address.bind)
    section.finish()
  }
}

/// `endpoints:`.
struct WrittenEndpoints {
  var attestChallenge: Placed<String>?
  var attestVerify: Placed<String>?
  var assertChallenge: Placed<String>?
  var enrols: Placed<Bool>?
  var rate: WrittenRate?

  init(_ section: Section) {
    attestChallenge = section.value("attest_challenge", RouteText.endpoint)
    attestVerify = section.value("attest_verify", RouteText.endpoint)
    assertChallenge = section.value("assert_challenge", RouteText.endpoint)
    enrols = section.value("enrol", Quantity.flag)
    rate = WrittenRate(section, other: "enrolment")
    section.finish()
  }
}
