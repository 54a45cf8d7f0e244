import Administration
import AppAttest
import CLinux
import Configuration
import EventLoop
import Exchange
import FoundationEssentials
import Gate
import Store
import TLS
import Synchronization
import Telemetry
import Upstream

/// `attestgate serve`: runs the gate until SIGTERM.
struct ServeCommand {
  static let usage = CommandUsage(
    name: "serve", summary: "Runs the gate. SIGTERM drains it and stops; SIGUSR1 opens the access log's file anew.",
    options: [.init("--config", value: "FILE", "the configuration, proxy.yaml unless said otherwise")])

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      // Before any other thread exists, so that every one of them leaves the signals to this one.
      ProcessSignals.block()
      let file = arguments.value("--config") ?? "proxy.yaml"
      do {
        let configuration = try ConfigurationLoader.load(file: file)
        return try Process(configuration).run()
      } catch let failure as ConfigurationFailure {
        for problem in failure.problems { StandardError.write("\(problem)\n") }
        return ExitCode.failed
      } catch let failure as StartFailure {
        StandardError.write("attestgate serve: \(failure.message)\n")
        return ExitCode.failed
      } catch {
        StandardError.write("attestgate serve: \(error)\n")
        return ExitCode.failed
      }
    }
  }
}

/// Why the gate could not start, with the mend.
struct StartFailure: Error {
  var message: String
}

/// The running gate: its workers, its listeners, and the order in which they start and stop.
private final class Process {
  private let configuration: Configuration
  private let diagnostics: Diagnostics
  private let accessLog: LogWriter
  private let listeners: [ListeningSocket]
  private let workers: [Worker]
  private let monitor: UpstreamMonitor?
  private let certificates: CertificateWatch
  private let admin: (listener: AdminListener, socket: ListeningSocket)?

  /// Opens everything that can fail, in the order in which an operator would look.
  init(_ configuration: Configuration) throws {
    self.configuration = configuration
    DescriptorLimit.raise()
    MemoryLimit.prepareAllocator()
    let processMetrics = Self.processMetrics()
    diagnostics = Diagnostics(try LogWriter(.standardError, lost: Self.lostLines(of: "diagnostics", in: processMetrics)))
    for warning in configuration.warnings { diagnostics.note(.warning, "\(warning)") }
    accessLog = try Self.accessLog(configuration.accessLog, lost: Self.lostLines(of: "access", in: processMetrics))
    listeners = try configuration.listeners.map { try Self.listen($0.bind) }
    let adminSocket = try configuration.admin.map { try Self.listen($0) }
    let site = Site(configuration)
    let (diagnostics, accessLog) = (diagnostics, accessLog)
    let upstreams = site.upstreams.map { UpstreamServers($0, registry: processMetrics, diagnostics: diagnostics) }
    monitor = UpstreamMonitor(upstreams)
    let memory = MemoryWatch()
    MemoryReport(processMetrics, diagnostics).watch(memory, configuration.memory)
    let tickets = TicketKeys()
    let certificates = try configuration.listeners.map { listener throws(TLSFailure) in
      try listener.tls.map { settings throws(TLSFailure) in try ListenerCertificates(settings, tickets: tickets) }
    }
    var services = WorkerServices(
      upstreams: upstreams, verifier: BackgroundThread(name: "verifier", queueMax: 64), accessLog: accessLog,
      diagnostics: diagnostics, limits: SharedLimits(site, memory: memory))
    services.certificates = certificates
    let storeMaker = StoreMaker(configuration.store, resolver: NameResolver())
    let workerServices = services
    workers = (0..<configuration.workerCount).map { number in
      Worker(number: number, site: site, services: workerServices) { storeMaker.make(on: $0) }
    }
    let workers = workers
    self.certificates = CertificateWatch(certificates.compactMap { $0 }, registry: processMetrics, diagnostics: diagnostics)
    admin = adminSocket.map { socket in
      let needsStore = site.routes.allSatisfy { $0.policy.mode == .enforce && !$0.policy.admitsOnStoreFailure }
      return (AdminListener(workers: workers, process: processMetrics, needsStore: needsStore), socket)
    }
  }

  /// How long a start waits for the store before it says that it serves without.
  private static let storeWaitMilliseconds = 2_000

  func run() throws -> Int32 {
    start()
    var isStopping = false
    while true {
      switch ProcessSignals.wait() {
      case .reopenLogs: accessLog.reopen()
      case .hangUp: certificates.reload()
      case .terminate:
        if isStopping { return ExitCode.failed }
        isStopping = true
        stop()
      }
    }
  }

  private func start() {
    let (workers, listeners, admin, diagnostics, monitor) = (workers, listeners, admin, diagnostics, monitor)
    let places = zip(configuration.listeners, listeners).map { listener, socket in
      guard listener.bind.unixPath == nil else { return listener.bind.description }
      let scheme = listener.tls == nil ? "http" : "https"
      return "\(scheme)://\(BindAddress(host: listener.bind.host, port: socket.address.port))"
    }
    certificates.start()
    let deadline = Instant.now.advanced(byMilliseconds: Self.storeWaitMilliseconds)
    Task {
      await monitor?.start()
      if let admin { await admin.listener.start(admin.socket) }
      for worker in workers { await worker.start(listeners) }
      // The first requests to a gate that says it is ready must not be refused for want of a connection to the store.
      for worker in workers { await worker.waitForStore(until: deadline) }
      admin?.listener.enter(.serving)
      diagnostics.note(
        .notice, "attestgate \(Version.number) serves \(places.joined(separator: ", ")) with \(workers.count) worker(s)")
    }
  }

  /// Draining, in this order: not ready, a delay for load balancers, no more accepting, answers close their connections, idle ones are
  /// closed, and what is left at the end of the time is cut.
  private func stop() {
    let (workers, listeners, admin, diagnostics) = (workers, listeners, admin, diagnostics)
    let (delay, timeout, accessLog) = (configuration.drainDelayMilliseconds, configuration.drainTimeoutMilliseconds, accessLog)
    Task {
      diagnostics.note(.notice, "draining")
      admin?.listener.enter(.draining)
      try? await Task.sleep(for: .milliseconds(delay))
      for worker in workers { await worker.stopAccepting() }
      for listener in listeners { listener.stop() }
      let deadline = Instant.now.advanced(byMilliseconds: timeout)
      for worker in workers { await worker.drain(until: deadline) }
      admin?.socket.stop()
      accessLog.finish()
      diagnostics.note(.notice, "stopped")
      diagnostics.finish()
      exit(ExitCode.done)
    }
  }

  // MARK: Parts

  private static func accessLog(_ target: Configuration.AccessLog, lost: Counter) throws -> LogWriter {
    do {
      switch target {
      case .off: return try LogWriter(.off, lost: lost)
      case .standardOutput: return try LogWriter(.standardOutput, lost: lost)
      case .file(let path): return try LogWriter(.file(path), lost: lost)
      }
    } catch {
      throw StartFailure(message: "access_log: the file cannot be opened (\(KernelError.text(error.errno))); name one in a writable folder")
    }
  }

  private static func listen(_ bind: BindAddress) throws -> ListeningSocket {
    let address = bind.unixPath.map { SocketAddress(unixPath: $0) } ?? SocketAddress(host: bind.host, port: bind.port)
    guard let address else {
      throw StartFailure(message: "bind: \(bind) is not an IPv4 or IPv6 address")
    }
    do {
      return try ListeningSocket(address)
    } catch {
      guard case .failed(let number) = error else { throw StartFailure(message: "bind: cannot listen on \(bind)") }
      let mend =
        switch number {
        case EADDRINUSE where bind.unixPath != nil: "another program answers there, or something lies there that is no socket; remove it"
        case ENOENT, ENOTDIR: "there is no such folder; create it"
        case EACCES where bind.unixPath != nil: "the folder must be writable for the gate"
        case EADDRINUSE: "another program listens there; stop it or choose another port"
        case EACCES: "ports below 1024 need CAP_NET_BIND_SERVICE"
        case EADDRNOTAVAIL, EAFNOSUPPORT: "this machine has no such address"
        default: "the kernel refused"
        }
      throw StartFailure(message: "bind: cannot listen on \(bind) (\(KernelError.text(number))): \(mend)")
    }
  }

  private static func processMetrics() -> MetricRegistry {
    let registry = MetricRegistry()
    let build = MetricFamily("attestgate_build_info", .gauge, "The running version; always 1.")
    registry.gauge(build, [MetricLabel("version", Version.number)]).set(1)
    let reload = MetricFamily(
      "attestgate_config_last_reload_successful", .gauge, "Whether the configuration that was read last is the one that runs.")
    registry.gauge(reload).set(1)
    return registry
  }

  private static func lostLines(of log: String, in registry: MetricRegistry) -> Counter {
    let family = MetricFamily("attestgate_log_lines_lost_total", .counter, "Lines that a log could not take, by log.")
    return registry.counter(family, [MetricLabel("log", log)])
  }
}

/// Makes each worker's way to the store: one Redis connection a worker, or a face of the one memory store.
private struct StoreMaker: Sendable {
  private enum Kind: Sendable {
    case redis(RedisSettings)
    case memory(MemoryStore)
  }

  private let kind: Kind
  private let resolver: NameResolver

  init(_ settings: Configuration.StoreSettings, resolver: NameResolver) {
    self.resolver = resolver
    switch settings {
    case .redis(let settings): kind = .redis(settings)
    case .memory: kind = .memory(MemoryStore())
    }
  }

  func make(on loop: EventLoop) -> any Store {
    switch kind {
    case .redis(let settings): RedisStore(settings: settings, loop: loop, resolver: resolver)
    case .memory(let store): MemoryStoreClient(store)
    }
  }
}

extension Site {
  /// What of the configuration the workers serve.
  init(_ configuration: Configuration) {
    var gate = GateSettings(
      apps: configuration.apps.map { AttestedApp($0.identity, environments: $0.environments, trustRoots: $0.trustRoots) })
    gate.assertionChallengeSeconds = configuration.assertionChallengeSeconds
    gate.attestationChallengeSeconds = configuration.attestationChallengeSeconds
    self.init(
      listeners: configuration.listeners, routes: configuration.routes, upstreams: configuration.upstreams, gate: gate)
    endpoints = configuration.endpoints
    workerCount = configuration.workerCount
    temporaryFolder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
  }
}
