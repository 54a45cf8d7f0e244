import Administration
import CLinux
import Configuration
import EventLoop
import Exchange
import Telemetry
import Upstream

/// What is counted of reloads.
struct ReloadMetrics {
  private let isSuccessful: Gauge
  private let done: Counter
  private let failed: Counter

  init(_ registry: MetricRegistry) {
    isSuccessful = registry.gauge(
      MetricFamily(
        "attestgate_config_last_reload_successful", .gauge, "Whether the configuration that was read last is the one that runs."))
    isSuccessful.set(1)
    let reloads = MetricFamily("attestgate_config_reloads_total", .counter, "Times that the configuration was read again, by result.")
    done = registry.counter(reloads, [MetricLabel("result", "done")])
    failed = registry.counter(reloads, [MetricLabel("result", "failed")])
  }

  func count(isSuccessful: Bool) {
    self.isSuccessful.set(isSuccessful ? 1 : 0)
    (isSuccessful ? done : failed).add()
  }
}

/// Going over to another configuration: everything that can fail comes first, and changes nothing.
extension RunningGate {
  /// Reads the configuration's file again and serves what it says; one that is bad changes nothing.
  func reload() async {
    if let heir { return heir.send(SIGHUP) }
    guard !isStopping else { return }
    manager.reloading()
    let problems = await tryReload()
    // It was asked to end meanwhile, and has said so.
    guard !isStopping else { return }
    reloads.count(isSuccessful: problems.isEmpty)
    for problem in problems { diagnostics.note(.error, "reload: \(problem)") }
    if problems.isEmpty {
      diagnostics.note(.notice, "reload: \(file) is in force; the gate \(summary)")
      manager.ready(summary)
    } else {
      diagnostics.note(.error, "reload: nothing was changed")
      manager.ready("\(summary); the configuration that was read last is bad and not in force")
    }
  }

  private func tryReload() async -> [String] {
    do throws(ConfigurationFailure) {
      let fresh = try ConfigurationLoader.load(file: file)
      do throws(StartFailure) {
        try await goOver(to: fresh)
        return []
      } catch {
        return [error.message]
      }
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func goOver(to wanted: Configuration) async throws(StartFailure) {
    do throws(ResourceFailure) {
      // For another access log, and for names and health checks where there were none.
      try ProcessResources.demand(threads: 4, descriptors: 12 + wanted.listeners.count)
    } catch {
      throw StartFailure(message: error.description)
    }
    let fresh = keepingWhatNeedsANewStart(wanted)
    // While there is what was demanded, and whatever comes of the reload: it cannot be made without.
    if monitor == nil && UpstreamMonitor.isNeeded(for: fresh.upstreams) { monitor = UpstreamMonitor() }
    let sockets = try openSockets(of: fresh)
    let certificates = try GateParts.certificates(fresh.listeners, tickets: tickets)
    let accessLog =
      fresh.accessLog == configuration.accessLog
      ? services.accessLog : try GateParts.accessLog(fresh.accessLog, lost: GateParts.lostLines(of: "access", in: metrics))
    if fresh.store != configuration.store {
      do throws(StartFailure) {
        try await openStore(of: fresh)
      } catch {
        if accessLog !== services.accessLog { accessLog.close() }
        throw error
      }
    }
    guard !isStopping else {
      if accessLog !== services.accessLog { accessLog.close() }
      throw StartFailure(message: "the gate is ending")
    }
    // From here on nothing can fail.
    for warning in fresh.warnings { diagnostics.note(.warning, "\(warning)") }
    let former = services
    services.accessLog = accessLog
    services.certificates = certificates
    services.upstreams = goOver(from: former.upstreams, to: fresh.upstreams)
    let site = Site(fresh)
    // The end may come between two workers: it stops these too, and ends no log to which a worker still writes.
    self.sockets += sockets.filter { socket in !self.sockets.contains { $0 === socket } }
    formerAccessLog = former.accessLog
    for worker in workers { await worker.serve(site, services: services, sockets: sockets) }
    guard !isStopping else { throw StartFailure(message: "the gate is ending") }
    formerAccessLog = nil
    for socket in self.sockets where !sockets.contains(where: { $0 === socket }) { socket.stop() }
    self.sockets = sockets
    configuration = fresh
    if accessLog !== former.accessLog { former.accessLog.close() }
    self.certificates.follow(certificates.compactMap { $0 })
    await monitor?.follow(services.upstreams)
    admin?.listener.follow(needsStore: site.needsStore)
  }

  /// Some things are chosen once in the life of a process.
  private func keepingWhatNeedsANewStart(_ wanted: Configuration) -> Configuration {
    var fresh = wanted
    func warn(_ key: String) {
      let mend = "SIGUSR2 makes one without dropping a connection"
      diagnostics.note(.warning, "\(file): \(key): the change takes effect at the next start; \(mend)")
    }
    if fresh.workerCount != configuration.workerCount { warn("workers") }
    if fresh.admin != configuration.admin { warn("admin.bind") }
    if fresh.memory != configuration.memory { warn("memory_limit") }
    fresh.workerCount = configuration.workerCount
    fresh.admin = configuration.admin
    fresh.memory = configuration.memory
    return fresh
  }

  /// Listeners that stay keep their socket.
  private func openSockets(of fresh: Configuration) throws(StartFailure) -> [ListeningSocket] {
    var opened: [ListeningSocket] = []
    for (index, listener) in fresh.listeners.enumerated() {
      if let known = configuration.listeners.firstIndex(where: { $0.bind == listener.bind }) {
        opened.append(sockets[known])
      } else {
        opened.append(try GateParts.listen(listener.bind, "listeners[\(index)].bind"))
      }
    }
    return opened
  }

  /// The new store must be there before the old one is let go.
  private func openStore(of fresh: Configuration) async throws(StartFailure) {
    let maker = StoreMaker(fresh.store, resolver: resolver)
    let deadline = Instant.now.advanced(byMilliseconds: Self.storeWaitMilliseconds)
    var isOpen = true
    for worker in workers where isOpen { isOpen = await worker.openStore({ maker.make(on: $0) }, until: deadline) }
    if isOpen { return }
    for worker in workers { await worker.dropOpenedStore() }
    throw StartFailure(message: "store: the new store does not take commands within \(Self.storeWaitMilliseconds) ms; see that it runs")
  }

  /// An upstream whose settings are the same stays with all that is known of its servers.
  private func goOver(from former: [UpstreamServers], to wanted: [UpstreamSettings]) -> [UpstreamServers] {
    // What goes takes its series with it, so it goes before what may come in its place.
    for servers in former where !wanted.contains(servers.settings) { servers.retire() }
    return wanted.map { settings in
      former.first { $0.settings == settings }
        ?? UpstreamServers(settings, registry: metrics, diagnostics: diagnostics, former: former)
    }
  }
}
