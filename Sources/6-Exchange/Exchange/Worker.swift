public import EventLoop
import HTTP
public import Store
public import Telemetry
import Upstream

/// One core's share of the gate: its loop, its connections, its pools, its way to the store. Everything of it runs on its loop.
public actor Worker {
  /// Connections taken in one turn, so that those taken already are served, and other workers get their share.
  static let acceptsPerTurnMax = 16
  static let acceptPauseMilliseconds = 100
  static let sweepMilliseconds = 1_000
  static let logFlushMilliseconds = 200
  static let cutOffMilliseconds = 100

  /// The loop, which is the worker's executor.
  public nonisolated let loop: EventLoop
  /// What the worker measures.
  public nonisolated let metrics: MetricRegistry
  /// The loop, as the language asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private let number: Int
  private let site: Site
  private let services: WorkerServices
  private let makeStore: @Sendable (EventLoop) -> any Store
  private var context: WorkerContext?
  private var store: (any Store)?
  private var acceptors: [Acceptor] = []
  /// Given when a connection ends, for those acceptors that wait for a place.
  private var connectionEnded: [Signal] = []
  private var connections: [ObjectIdentifier: DownstreamConnection] = [:]
  private var isStopped = false

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

  /// Opens the way to the store and serves the listeners, which are in the order of the site's.
  public func start(_ sockets: [ListeningSocket]) {
    let store = makeStore(loop)
    let context = WorkerContext(loop: loop, number: number, site: site, services: services, store: store, registry: metrics)
    self.store = store
    self.context = context
    // One worker speaks for all: they share the store.
    context.metrics.watch(store, diagnostics: number == 0 ? services.diagnostics : nil)
    Task(executorPreference: loop) { await self.runStore() }
    Task(executorPreference: loop) { await self.tick() }
    for (index, socket) in sockets.enumerated() {
      acceptors.append(Acceptor(socket, loop: loop))
      connectionEnded.append(Signal(loop: loop))
      Task(executorPreference: loop) { await self.accept(index) }
    }
  }

  /// How the worker sees the store.
  public func storeHealth() -> StoreHealth? { store?.health }

  /// Waits until the store takes commands, or the time is over.
  public func waitForStore(until deadline: Instant) async {
    while let store, !store.health.isUp, loop.now < deadline {
      await loop.sleep(until: loop.now.advanced(byMilliseconds: 5))
    }
  }

  /// Open connections of clients.
  public func connectionCount() -> Int { connections.count }

  // MARK: Accepting

  private func accept(_ index: Int) async {
    guard let context else { return }
    let acceptor = acceptors[index]
    let listener = context.listeners[index]
    while !context.isDraining {
      _ = await loop.wait(for: .readable(acceptor), until: .never)
      guard let pause = acceptWaiting(acceptor, listener, context.limits.connections[index], context) else { continue }
      await self.pause(index, pause, context)
    }
  }

  /// Takes what waits; what it answers is why no more can be taken now.
  private func acceptWaiting(
    _ acceptor: Acceptor, _ listener: ServedListener, _ limit: ConnectionLimit, _ context: WorkerContext
  ) -> LimitMetrics.AcceptPause? {
    for _ in 0..<Self.acceptsPerTurnMax where acceptor.isOpen {
      if acceptor.isShortOfDescriptors { return .descriptors }
      if isShortOfMemory(context) { return .memory }
      guard let slot = limit.reserve() else { return .connections }
      switch acceptor.accept() {
      case .connection(let socket): serve(socket, slot, listener, context)
      case .wouldBlock: return nil
      case .lost: continue
      case .exhausted: return .kernel
      }
    }
    acceptor.endTurn()
    return nil
  }

  /// Accepts nothing until there is room again: what arrives waits in the kernel's queue, and work that has begun goes on.
  private func pause(_ index: Int, _ reason: LimitMetrics.AcceptPause, _ context: WorkerContext) async {
    let acceptor = acceptors[index]
    context.metrics.limits.count(reason)
    acceptor.pause()
    closeIdleUpstreamsIfShort(context)
    repeat {
      _ = await loop.wait(for: .signal(connectionEnded[index]), until: loop.now.advanced(byMilliseconds: Self.acceptPauseMilliseconds))
      acceptor.checkDescriptors()
    } while !context.isDraining
      && (acceptor.isShortOfDescriptors || isShortOfMemory(context) || context.limits.connections[index].isReached)
    if !context.isDraining { acceptor.resume() }
  }

  /// Whether there is too little memory for another connection. Whoever comes alone is served all the same: a gate that is given less
  /// memory than it takes at rest must not stand still for ever.
  private func isShortOfMemory(_ context: WorkerContext) -> Bool { context.limits.memory.pressure != .none && !connections.isEmpty }

  private func serve(_ socket: Socket, _ slot: consuming ConnectionSlot, _ listener: ServedListener, _ context: WorkerContext) {
    // A trusted proxy has the connections of many clients.
    let peers = listener.settings.trustedPeers
    let countsByAddress = peers.isEmpty || !peers.contains(socket.peer.ip)
    guard !countsByAddress || slot.claim(ClientNetwork(socket.peer)) else {
      // Nothing is answered: an answer costs what the limit is there to save.
      context.metrics.limits.refusedByAddress.add()
      return socket.close()
    }
    let connection = DownstreamConnection(
      socket: socket, slot: slot, loop: loop, listener: listener, metrics: context.metrics.limits, memory: context.limits.memory)
    let identifier = ObjectIdentifier(connection)
    connections[identifier] = connection
    context.metrics.connections.add(1)
    Task(executorPreference: loop) { await self.run(identifier) }
  }

  private func run(_ identifier: ObjectIdentifier) async {
    guard let context, let connection = connections[identifier] else { return }
    await Exchange(worker: context, connection: connection).run()
    connections[identifier] = nil
    context.metrics.connections.add(-1)
    for signal in connectionEnded { signal.notify() }
  }

  // MARK: In the background

  private func runStore() async { await store?.run() }

  /// Sweeps pools and hands log lines over, until the worker has drained.
  private func tick() async {
    guard let context else { return }
    var nextSweep = loop.now
    while !isStopped {
      await loop.sleep(until: loop.now.advanced(byMilliseconds: Self.logFlushMilliseconds))
      context.accessLog.flush()
      if loop.now >= nextSweep {
        for upstream in context.upstreams { upstream.sweep() }
        closeIdleUpstreamsIfShort(context)
        nextSweep = loop.now.advanced(byMilliseconds: Self.sweepMilliseconds)
      }
    }
  }

  /// Idle connections are the first thing that a process short of descriptors can do without.
  private func closeIdleUpstreamsIfShort(_ context: WorkerContext) {
    guard let acceptor = acceptors.first, acceptor.isOpen else { return }
    acceptor.checkDescriptors()
    guard acceptor.isShortOfDescriptors else { return }
    for upstream in context.upstreams { upstream.closeIdle() }
  }

  // MARK: Draining

  /// Stops accepting, once what the kernel has accepted already is taken: closing the socket would reset it.
  public func stopAccepting() {
    guard let context, !context.isDraining else { return }
    context.isDraining = true
    for (index, acceptor) in acceptors.enumerated() {
      let listener = context.listeners[index]
      while acceptor.isOpen, case .connection(let socket) = acceptor.accept() {
        if let slot = context.limits.connections[index].reserve(always: true) { serve(socket, slot, listener, context) }
      }
      acceptor.close()
    }
    closeIdle()
  }

  /// Waits until every exchange has ended, or the deadline; what is left then is closed. Log lines are handed over. The end of the worker.
  public func drain(until deadline: Instant) async {
    while !connections.isEmpty && loop.now < deadline {
      closeIdle()
      await loop.sleep(until: loop.now.advanced(byMilliseconds: 10))
    }
    for connection in connections.values { connection.socket.close() }
    // Those that were cut off have their log lines too; only who waits for something else than its client does not notice at once.
    let lastMoment = loop.now.advanced(byMilliseconds: Self.cutOffMilliseconds)
    while !connections.isEmpty && loop.now < lastMoment { await loop.sleep(until: loop.now.advanced(byMilliseconds: 1)) }
    isStopped = true
    for upstream in context?.upstreams ?? [] { upstream.closeIdle() }
    context?.accessLog.flush()
    store?.stop()
  }

  private func closeIdle() {
    for connection in connections.values where connection.mayBeClosed { connection.socket.close() }
  }
}
