import Upstream

extension Meaning {
  func upstreams(_ written: [WrittenUpstream], workerCount: Int) -> [UpstreamSettings] {
    written.map { upstream($0, workerCount: workerCount) }
  }

  private func upstream(_ written: WrittenUpstream, workerCount: Int) -> UpstreamSettings {
    if !FieldText.isToken(written.name.value) || written.name.value.utf8.count > 64 {
      problems.add(written.name, "an upstream's name is letters, digits, \"-\", \"_\" and \".\", at most 64")
    }
    if let servers = written.servers { checkDistinct(servers) }
    var settings = UpstreamSettings(name: written.name.value, servers: written.servers?.value.map(\.value) ?? [])
    settings.tls = clientIdentity(written.tls, isUsed: settings.servers.contains(where: \.usesTLS), servers: "servers with https://")
    fill(&settings.balance, written.balance)
    fill(&settings.host, written.host)
    settings.health = health(written.health, host: settings.host)
    fill(&settings.resolveIntervalMilliseconds, written.resolveInterval)
    if let interval = written.resolveInterval, !settings.servers.isEmpty, settings.servers.allSatisfy({ $0.address != nil }) {
      problems.add(interval, "is for servers that are named, and all of these are addresses; remove it")
    }
    fill(&settings.connectTimeoutMilliseconds, written.connectTimeout)
    fill(&settings.responseTimeoutMilliseconds, written.responseTimeout)
    fill(&settings.idleTimeoutMilliseconds, written.idleTimeout)
    limits(&settings, written, workerCount: workerCount)
    fill(&settings.poolIdleMax, written.poolIdle)
    fill(&settings.poolIdleTimeoutMilliseconds, written.poolIdleTimeout)
    (settings.requestFieldsSet, settings.requestFieldsRemoved) = fields(written.requestFields)
    (settings.responseFieldsSet, settings.responseFieldsRemoved) = fields(written.responseFields)
    return settings
  }

  /// A check asks for the host that requests ask for, where that is always the same one.
  private func health(_ written: WrittenHealth?, host: UpstreamSettings.HostForm) -> HealthCheck? {
    guard let written else { return nil }
    var check = HealthCheck(path: written.path?.value)
    if case .literal(let host) = host { check.host = host }
    if let host = written.host { check.host = host.value }
    fill(&check.intervalMilliseconds, written.interval)
    // Only the interval was made shorter: a check cannot last longer.
    check.timeoutMilliseconds = written.timeout?.value ?? min(check.timeoutMilliseconds, check.intervalMilliseconds)
    fill(&check.healthyCount, written.healthy)
    fill(&check.unhealthyCount, written.unhealthy)
    fill(&check.statuses, written.statuses)
    if let timeout = written.timeout, timeout.value > check.intervalMilliseconds {
      problems.add(timeout, "is longer than the interval from one check to the next; shorten it or raise interval")
    }
    if check.path == nil {
      for unused in [written.host.map { ($0.place, $0.path) }, written.statuses.map { ($0.place, $0.path) }] {
        if let unused { problems.add(unused.0, unused.1, "is for a check that asks for something, and there is no path; write one") }
      }
    }
    return check
  }

  /// `max_concurrent` and `queue`, which are divided among the workers.
  private func limits(_ settings: inout UpstreamSettings, _ written: WrittenUpstream, workerCount: Int) {
    settings.requestsMax = written.maxConcurrent?.value
    fill(&settings.queueMax, written.queue)
    fill(&settings.queueTimeoutMilliseconds, written.queueTimeout)
    if let most = written.maxConcurrent, most.value < workerCount {
      problems.add(most, "is less than the number of workers, \(workerCount), each of which needs its share; raise it, or set workers")
    }
    if let queue = written.queue, queue.value > 0, written.maxConcurrent == nil {
      problems.add(queue, "is for requests beyond max_concurrent, and there is none; set it")
    }
  }

  private func fields(_ written: WrittenFields) -> (set: [UpstreamSettings.Field], removed: [String]) {
    var names: [String] = []
    func check(_ name: Placed<String>) {
      let lowered = name.value.lowercased()
      if let problem = FieldText.problem(ofName: name.value) {
        problems.add(name, problem)
      } else if names.contains(lowered) {
        problems.add(name, "\(name.value) is set or removed already; names are compared without case")
      }
      names.append(lowered)
    }
    for field in written.set {
      check(field.name)
      if let problem = FieldText.problem(ofValue: field.value.value) { problems.add(field.value, problem) }
    }
    written.removed.forEach(check)
    return (
      written.set.map { UpstreamSettings.Field(name: $0.name.value, value: $0.value.value) }, written.removed.map { $0.value.lowercased() }
    )
  }
}
