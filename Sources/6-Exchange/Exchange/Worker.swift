public import EventLoop
import HTTP
public import Store
public import Telemetry
import Upstream

/// One core's share of the gate: its loop, its connections, its pools, its way to the store. Everything of it runs on its loop.
///
/// Accepting is in Worker+Accepting.swift, the change to another configuration in Worker+Reload.swift, the end in Worker+Draining.swift.
public actor Worker {
  static let sweepMilliseconds = 1_000
  static let logFlushMilliseconds = 200

  /// The loop, which is the worker's executor.
  public nonisolated let loop: EventLoop
  /// What the worker measures.
  public nonisolated let metrics: MetricRegistry
  /// The loop, as the language asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  let number: Int
  private let site: Site
  let services: WorkerServices
  private let makeStore: @Sendable (EventLoop) -> any Store
  var serving: Serving?
  var store: (any Store)?
  /// A store that is being opened beside the one in use.
  var nextStore: (any Store)?
  /// Stores that requests of an earlier configuration may still ask.
  var formerStores: [FormerStore] = []
  /// In the order of the site's listeners.
  var intakes: [Intake] = []
  /// By socket.
  var connections: [ObjectIdentifier: ServedConnection] = [:]
  /// Tasks that wait for a connection.
  var spareLanes: [Lane] = []
  var isStopped = false

  /// A worker that does not serve yet; its loop runs from now on. `makeStore` is called on the loop.
  public init(number: Int, site: Site, services: WorkerServices, makeStore: @escaping @Sendable (EventLoop) -> any Store) {
    loop = EventLoop()
    metrics = MetricRegistry()
    self.number = number
    self.site = site
    self.services = services
    self.makeStore = makeStore
    loop.start(name: "worker-\(number)")
  }

  /// Opens the way to the store.
  public func open() {
    let store = makeStore(loop)
    let context = WorkerContext(loop: loop, number: number, site: site, services: services, store: store, registry: metrics)
    self.store = store
    serving = Serving(context)
    watch(store, context)
    run(store)
    Task(executorPreference: loop) { await self.tick() }
  }

  /// Accepts from the listeners' sockets, which are in the order of the site's, once the worker is open.
  public func serve(_ sockets: [ListeningSocket]) {
    guard let context = serving?.context else { return }
    takeIn(sockets, context)
  }

  /// Opens the way to the store and serves, whether the store is there or not.
  public func start(_ sockets: [ListeningSocket]) {
    open()
    serve(sockets)
  }

  /// How the worker sees the store.
  public func storeHealth() -> StoreHealth? { store?.health }

  /// Waits until the store takes commands, or the time is over.
  public func waitForStore(until deadline: Instant) async {
    while let store, !store.health.isUp, loop.now < deadline {
      await loop.sleep(until: loop.now.advanced(byMilliseconds: 5))
    }
  }

  /// Open connections of clients. That it is answered shows that the loop turns.
  public func connectionCount() -> Int { connections.count }

  /// Those of them that rest.
  func restingCount() -> Int { connections.values.count { if case .resting = $0 { true } else { false } } }

  // MARK: In the background

  /// One worker speaks for all of the store that they share.
  func watch(_ store: any Store, _ context: WorkerContext) {
    context.metrics.watch(store, diagnostics: number == 0 ? services.diagnostics : nil)
  }

  func run(_ store: any Store) {
    let identifier = ObjectIdentifier(store)
    Task(executorPreference: loop) { await self.runStore(identifier) }
  }

  private func runStore(_ identifier: ObjectIdentifier) async {
    for store in [store, nextStore] {
      guard let store, ObjectIdentifier(store) == identifier else { continue }
      return await store.run()
    }
  }

  /// Sweeps pools and hands log lines over, until the worker has drained.
  private func tick() async {
    var nextSweep = loop.now
    while !isStopped, let context = serving?.context {
      await loop.sleep(until: loop.now.advanced(byMilliseconds: Self.logFlushMilliseconds))
      context.accessLog.flush()
      if loop.now >= nextSweep {
        sweep()
        nextSweep = loop.now.advanced(byMilliseconds: Self.sweepMilliseconds)
      }
    }
  }

  private func sweep() {
    guard let context = serving?.context else { return }
    for upstream in context.upstreams { upstream.sweep() }
    closeIdleUpstreamsIfShort(context)
    closeLeftOver()
    stopFormerStores()
  }
}
