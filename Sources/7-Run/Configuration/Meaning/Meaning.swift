import Exchange
import Store

/// Turns what was written into what is true: fills defaults, resolves names, reads files, and reports what does not fit together.
struct Meaning {
  let file: String
  let problems: ProblemList
  let environment: ConfigurationEnvironment

  /// Nil, with problems, when something that the rest rests on is wrong.
  func configuration(of written: WrittenConfiguration) -> Configuration? {
    let listeners = listeners(written)
    let admin = admin(written, listeners)
    let apps = apps(written)
    let workerCount = written.workers.map { $0.value == 0 ? environment.processorCount : $0.value } ?? environment.processorCount
    let upstreams = upstreams(written.upstreams, workerCount: workerCount)
    let routes = routes(written.routes, apps: apps, upstreams: written.upstreams.map(\.name.value))
    checkAppsExist(written)
    let endpoints = endpoints(written.endpoints)
    let assertTTL = seconds(written.assertTTL, default: 300)
    let attestTTL = seconds(written.attestTTL, default: 900)
    let store = store(written.store, challengeSecondsMax: max(assertTTL, attestTTL))
    let accessLog = accessLog(written.accessLog)
    guard problems.isEmpty, let store else { return nil }
    var configuration = Configuration(
      file: file,
      workerCount: workerCount,
      listeners: listeners, admin: admin,
      drainDelayMilliseconds: written.drainDelay?.value ?? 0,
      drainTimeoutMilliseconds: written.drainTimeout?.value ?? 30_000,
      memory: written.memoryLimit?.value ?? .automatic, accessLog: accessLog, store: store, apps: apps.named,
      assertionChallengeSeconds: assertTTL,
      attestationChallengeSeconds: attestTTL, endpoints: endpoints, upstreams: upstreams, routes: routes, warnings: [])
    configuration.warnings = Warnings(file: file, written: written, configuration: configuration, environment: environment).found
    return configuration
  }

  // MARK: Listeners

  private func listeners(_ written: WrittenConfiguration) -> [ListenerSettings] {
    guard let entries = written.listeners else { return [ListenerSettings(bind: Self.defaultBind)] }
    var settings: [ListenerSettings] = []
    for entry in entries {
      let listener = listener(entry)
      if settings.contains(where: { Self.collide($0.bind, listener.bind) }) {
        problems.add(
          entry.bind?.place ?? entry.place, "\(entry.path).bind", "an earlier listener has this address already; choose another port")
      }
      settings.append(listener)
    }
    return settings
  }

  private static let defaultBind = BindAddress(host: "127.0.0.1", port: 8080)

  private func listener(_ written: WrittenListener) -> ListenerSettings {
    var settings = ListenerSettings(bind: written.bind?.value ?? Self.defaultBind)
    settings.tls = tls(written.tls)
    trust(&settings, written)
    fill(&settings.underscoreFields, written.underscoreFields)
    fill(&settings.headBytesMax, written.headBytes)
    fill(&settings.requestLineBytesMax, written.requestLineBytes)
    fill(&settings.fieldCountMax, written.headerCount)
    fill(&settings.connectionsMax, written.connections)
    fill(&settings.connectionsPerAddressMax, written.connectionsPerAddress)
    fill(&settings.requestsPerConnectionMax, written.requestsPerConnection)
    fill(&settings.bodyBytesPerSecondMin, written.bodyMinRate)
    fill(&settings.headTimeoutMilliseconds, written.headTimeout)
    fill(&settings.bodyTimeoutMilliseconds, written.bodyTimeout)
    fill(&settings.idleTimeoutMilliseconds, written.idleTimeout)
    fill(&settings.writeTimeoutMilliseconds, written.writeTimeout)
    fill(&settings.writeBytesPerSecondMin, written.writeMinRate)
    if settings.requestLineBytesMax > settings.headBytesMax {
      if let line = written.requestLineBytes {
        problems.add(line, "is more than head_bytes, which counts the request line too; raise head_bytes")
      } else {
        // Only the head was made smaller: the line within it cannot be larger.
        settings.requestLineBytesMax = settings.headBytesMax
      }
    }
    return settings
  }

  private func admin(_ written: WrittenConfiguration, _ listeners: [ListenerSettings]) -> BindAddress? {
    guard let admin = written.admin else { return nil }
    let bind = admin.bind?.value ?? BindAddress(host: "127.0.0.1", port: 9901)
    if listeners.contains(where: { Self.collide($0.bind, bind) }) {
      problems.add(
        admin.bind?.place ?? admin.place, "\(admin.path).bind",
        "is a public listener's address; health and metrics need a port of their own")
    }
    return bind
  }

  /// Whether both cannot be listened at: the same address, or every address of the same port. Port 0 is another one each time.
  private static func collide(_ left: BindAddress, _ right: BindAddress) -> Bool {
    if left.unixPath != nil || right.unixPath != nil { return left.unixPath == right.unixPath }
    let all = ["0.0.0.0", "::"]
    return left.port != 0 && left.port == right.port && (left.host == right.host || all.contains(left.host) || all.contains(right.host))
  }

  // MARK: Store, log, endpoints

  private func store(_ written: WrittenStore?, challengeSecondsMax: Int) -> Configuration.StoreSettings? {
    guard let written else { return nil }
    switch (written.hasRedis, written.hasMemory) {
    case (true, true): problems.add(written.place, written.path, "names redis and memory; keep one of them")
    case (false, false): problems.add(written.place, written.path, "names no store; write redis: {url: …} under it, or memory: {}")
    case (false, true): return .memory
    case (true, false): break
    }
    guard let redis = written.redis, var settings = redis.url?.value else { return nil }
    for (own, inURL) in [(redis.user, settings.user), (redis.password, settings.password)] {
      if let own, inURL != nil { problems.add(own, "is in the url too; keep one of them") }
    }
    if let user = redis.user { settings.user = user.value }
    if let password = redis.password { settings.password = password.value }
    if let user = redis.user, settings.password == nil { problems.add(user, "needs a password beside it") }
    settings.tls = clientIdentity(redis.tls, isUsed: settings.usesTLS, servers: "a url with rediss://")
    fill(&settings.prefix, redis.prefix)
    fill(&settings.timeoutMilliseconds, redis.timeout)
    fill(&settings.inFlightMax, redis.inFlightMax)
    settings.challengeSecondsMax = challengeSecondsMax
    return .redis(settings)
  }

  private func accessLog(_ written: Placed<Configuration.AccessLog>?) -> Configuration.AccessLog {
    guard let written else { return .standardOutput }
    guard case .file(let path) = written.value else { return written.value }
    let resolved = ReferencedFile.path(path, besides: file)
    if let problem = ReferencedFile.problem(appendingTo: resolved) { problems.add(written, problem) }
    return .file(resolved)
  }

  private func endpoints(_ written: WrittenEndpoints?) -> EndpointSettings {
    var settings = EndpointSettings()
    guard let written else { return settings }
    fill(&settings.attestChallenge, written.attestChallenge)
    fill(&settings.attestVerify, written.attestVerify)
    fill(&settings.assertChallenge, written.assertChallenge)
    fill(&settings.enrols, written.enrols)
    if let rate = written.rate {
      if let address = rate.address { settings.addressRate = address.value }
      if let enrolment = rate.other { settings.enrolmentRate = enrolment.value }
    }
    let paths = [settings.attestChallenge, settings.attestVerify, settings.assertChallenge]
    for (index, own) in [written.attestChallenge, written.attestVerify, written.assertChallenge].enumerated() {
      guard let own, paths.indices.contains(where: { $0 != index && paths[$0] == own.value }) else { continue }
      problems.add(own, "another endpoint has the path \"\(own.value)\" too; each needs its own")
    }
    return settings
  }

  // MARK: Common to all

  /// What was written takes the default's place.
  func fill<Value>(_ setting: inout Value, _ written: Placed<Value>?) {
    if let written { setting = written.value }
  }

  private func seconds(_ written: Placed<Int>?, default seconds: Int) -> Int {
    guard let written else { return seconds }
    if written.value % 1_000 != 0 { problems.add(written, "must be whole seconds") }
    return written.value / 1_000
  }
}
