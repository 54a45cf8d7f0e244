import Administration
import CLinux
import Configuration
import EventLoop
import Exchange
import FoundationEssentials
import TLS
import Telemetry
import Upstream

/// The running gate: its workers, its listeners, and the order in which they start and stop. How it goes over to another configuration
/// is in GateReload.swift, how to another process in GateHandOver.swift.
actor RunningGate {
  let file: String
  let environment: [String: String]
  let manager: ServiceManager
  let metrics: MetricRegistry
  let diagnostics: Diagnostics
  let limits: SharedLimits
  let verifier = BackgroundThread(name: "verifier", queueMax: 64)
  let tickets = TicketKeys()
  let resolver = NameResolver()
  let certificates: CertificateWatch
  let workers: [Worker]
  var admin: (listener: AdminListener, socket: ListeningSocket)?
  let reloads: ReloadMetrics
  /// The program's file, as it was named or found at the start: there may be a newer one by the same name.
  let program: String

  /// What is served.
  var configuration: Configuration
  var services: WorkerServices
  /// While the workers go over to another one.
  var formerAccessLog: LogWriter?
  /// In the order of the configuration's listeners.
  var sockets: [ListeningSocket]
  var monitor: UpstreamMonitor?
  /// The process that is to take over.
  var successor: Successor?
  /// The process that has taken over: what is asked of the gate is asked of it.
  var heir: Successor?
  /// Waits for it, without holding anybody up.
  lazy var waiting = BackgroundThread(name: "successor", queueMax: 1)
  private(set) var isStopping = false
  /// What the process before listened to and this one does not, until that one has taken its last connections.
  private var unused: UnusedSockets?

  /// How long a start waits for the store before it serves without.
  static let storeWaitMilliseconds = 2_000
  /// How long the process before has to take its last connections once it knows that this one serves.
  private static let lastConnectionsMilliseconds = 1_000

  /// Opens everything that can fail, in the order in which an operator would look.
  init(_ configuration: Configuration, inherited: inout InheritedSockets, environment: [String: String]) throws {
    self.configuration = configuration
    self.environment = environment
    file = configuration.file
    program = Self.program()
    manager = ServiceManager(environment)
    try Self.demandResources(for: configuration)
    metrics = GateParts.metrics()
    diagnostics = Diagnostics(try LogWriter(.standardError, lost: GateParts.lostLines(of: "diagnostics", in: metrics)))
    for warning in configuration.warnings { diagnostics.note(.warning, "\(warning)") }
    let accessLog = try GateParts.accessLog(configuration.accessLog, lost: GateParts.lostLines(of: "access", in: metrics))
    var sockets: [ListeningSocket] = []
    for (index, listener) in configuration.listeners.enumerated() {
      sockets.append(try GateParts.listen(listener.bind, "listeners[\(index)].bind", &inherited))
    }
    self.sockets = sockets
    var adminSocket: ListeningSocket?
    if let bind = configuration.admin { adminSocket = try GateParts.listen(bind, "admin.bind", &inherited) }
    let site = Site(configuration)
    let memory = MemoryWatch()
    MemoryReport(metrics, diagnostics).watch(memory, configuration.memory)
    limits = SharedLimits(memory: memory)
    let (registry, diagnostics) = (metrics, diagnostics)
    let upstreams = site.upstreams.map { UpstreamServers($0, registry: registry, diagnostics: diagnostics) }
    if UpstreamMonitor.isNeeded(for: upstreams.map(\.settings)) { monitor = UpstreamMonitor() }
    var services = WorkerServices(
      upstreams: upstreams, verifier: verifier, accessLog: accessLog, diagnostics: diagnostics, limits: limits)
    services.certificates = try GateParts.certificates(configuration.listeners, tickets: tickets)
    self.services = services
    certificates = CertificateWatch(services.certificates.compactMap { $0 }, registry: metrics, diagnostics: diagnostics)
    reloads = ReloadMetrics(metrics)
    let storeMaker = StoreMaker(configuration.store, resolver: resolver)
    let workerServices = services
    let workers = (0..<configuration.workerCount).map { number in
      Worker(number: number, site: site, services: workerServices) { storeMaker.make(on: $0) }
    }
    self.workers = workers
    admin = adminSocket.map { (AdminListener(workers: workers, process: registry, needsStore: site.needsStore), $0) }
  }

  /// Besides the workers: logs, memory, verifier, resolvers, admin, watchdog, upstreams, and what a reload or a hand-over starts.
  private static let threadsBesidesWorkers = 16

  private static func demandResources(for configuration: Configuration) throws(StartFailure) {
    do throws(ResourceFailure) {
      // Each worker has a loop with two descriptors, each listener a socket.
      let (workers, listeners) = (configuration.workerCount, configuration.listeners.count)
      try ProcessResources.demand(threads: workers + threadsBesidesWorkers, descriptors: 2 * workers + listeners + 24)
    } catch {
      throw StartFailure(message: "the process cannot start: \(error.description)")
    }
  }

  private static func program() -> String {
    let name = CommandLine.arguments.first ?? ""
    return name.contains("/") ? name : (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? name
  }

  /// Serves, once the store is there or has been waited for: the first requests must not be refused for want of a connection to it.
  func start(closing unused: UnusedSockets) async {
    for warning in unused.warnings { diagnostics.note(.warning, warning) }
    certificates.start()
    let deadline = Instant.now.advanced(byMilliseconds: Self.storeWaitMilliseconds)
    await monitor?.follow(services.upstreams)
    if let admin { await admin.listener.start(admin.socket) }
    for worker in workers { await worker.open() }
    for worker in workers { await worker.waitForStore(until: deadline) }
    for worker in workers { await worker.serve(sockets) }
    guard !isStopping else { return }
    admin?.listener.enter(.serving)
    diagnostics.note(.notice, "attestgate \(Version.number) \(summary)")
    for (_, socket) in namedSockets { socket.takeOver() }
    let variables = environment
    Successor.announce { variables[$0] }
    self.unused = unused
    manager.ready(summary)
    manager.keepAlive(workers)
    Task {
      try? await Task.sleep(for: .milliseconds(Self.lastConnectionsMilliseconds))
      closeUnused()
    }
  }

  private func closeUnused() {
    unused?.close()
    unused = nil
  }

  /// Where it serves.
  var summary: String {
    let places = zip(configuration.listeners, sockets).map { listener, socket in
      guard listener.bind.unixPath == nil else { return listener.bind.description }
      let scheme = listener.tls == nil ? "http" : "https"
      return "\(scheme)://\(BindAddress(host: listener.bind.host, port: socket.address.port))"
    }
    return "serves \(places.joined(separator: ", ")) with \(workers.count) worker(s)"
  }

  /// The access log's file was moved away.
  func reopenLogs() {
    heir?.send(SIGUSR1)
    let diagnostics = diagnostics
    services.accessLog.reopen { failure in
      diagnostics.note(
        .error, "access_log: the file cannot be opened anew (\(KernelError.text(failure.errno))); lines go on into the one that was moved")
    }
  }

  /// Drains and ends the process, because it was asked to.
  func stop() async {
    guard !isStopping, heir == nil else { return }
    successor?.send(SIGTERM)
    manager.stopping(withinMilliseconds: configuration.drainDelayMilliseconds + configuration.drainTimeoutMilliseconds)
    await end(delayMilliseconds: configuration.drainDelayMilliseconds)
  }

  /// Draining, in this order: not ready, a delay for load balancers, no more accepting, answers close their connections, idle ones are
  /// closed one after the other, and what is left at the end of the time is cut.
  func end(delayMilliseconds: Int) async {
    guard !isStopping else { return }
    isStopping = true
    diagnostics.note(.notice, "draining")
    admin?.listener.enter(.draining)
    try? await Task.sleep(for: .milliseconds(delayMilliseconds))
    for worker in workers { await worker.stopAccepting() }
    for socket in sockets { socket.stop() }
    closeUnused()
    // What another process serves now is not kept open here: should it end, nobody is to wait in a queue that nobody looks at.
    sockets = []
    let deadline = Instant.now.advanced(byMilliseconds: configuration.drainTimeoutMilliseconds)
    await withTaskGroup { group in
      for worker in workers { group.addTask { await worker.drain(until: deadline) } }
    }
    admin?.socket.stop()
    successor?.send(SIGKILL)
    formerAccessLog?.finish()
    services.accessLog.finish()
    diagnostics.note(.notice, "stopped")
    diagnostics.finish()
    ProcessEnd.now(ExitCode.done)
  }
}
