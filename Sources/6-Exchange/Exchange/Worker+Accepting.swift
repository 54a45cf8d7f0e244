import EventLoop
import HTTP
import Telemetry
import Upstream

/// Taking connections in.
extension Worker {
  /// Connections taken in one turn, so that those taken already are served, and other workers get their share.
  static let acceptsPerTurnMax = 16
  static let acceptPauseMilliseconds = 100

  /// Accepts from these sockets, which are in the order of the context's listeners, and goes on where it does already.
  func takeIn(_ sockets: [ListeningSocket], _ context: WorkerContext) {
    intakes = zip(sockets, zip(context.listeners, context.connectionLimits)).map { socket, served in
      if let known = intakes.first(where: { $0.acceptor.listener === socket }) {
        (known.listener, known.limit) = served
        return known
      }
      let intake = Intake(socket, served.0, served.1, loop: loop)
      let identifier = ObjectIdentifier(intake)
      Task(executorPreference: loop) { await self.accept(identifier) }
      return intake
    }
  }

  private func accept(_ identifier: ObjectIdentifier) async {
    guard let serving, let intake = intakes.first(where: { ObjectIdentifier($0) == identifier }) else { return }
    while intake.acceptor.isOpen {
      _ = await loop.wait(for: .readable(intake.acceptor), until: .never)
      guard let reason = acceptWaiting(intake, serving) else { continue }
      await pause(intake, reason, serving)
    }
  }

  /// Takes what waits; what it answers is why no more can be taken now.
  private func acceptWaiting(_ intake: Intake, _ serving: Serving) -> LimitMetrics.AcceptPause? {
    let (acceptor, context) = (intake.acceptor, serving.context)
    for _ in 0..<Self.acceptsPerTurnMax where acceptor.isOpen {
      if acceptor.isShortOfDescriptors { return .descriptors }
      if isShortOfMemory(context) { return .memory }
      guard let slot = intake.limit.reserve() else { return .connections }
      switch acceptor.accept() {
      case .connection(let socket): serve(socket, slot, intake.listener, context)
      case .wouldBlock: return nil
      case .lost: continue
      case .exhausted: return .kernel
      }
    }
    acceptor.endTurn()
    return nil
  }

  /// Accepts nothing until there is room again: what arrives waits in the kernel's queue, and work that has begun goes on.
  private func pause(_ intake: Intake, _ reason: LimitMetrics.AcceptPause, _ serving: Serving) async {
    let acceptor = intake.acceptor
    serving.context.metrics.limits.count(reason)
    acceptor.pause()
    closeIdleUpstreamsIfShort(serving.context)
    repeat {
      _ = await loop.wait(for: .signal(intake.connectionEnded), until: loop.now.advanced(byMilliseconds: Self.acceptPauseMilliseconds))
      acceptor.checkDescriptors()
    } while acceptor.isOpen && (acceptor.isShortOfDescriptors || isShortOfMemory(serving.context) || intake.limit.isReached)
    if acceptor.isOpen { acceptor.resume() }
  }

  /// Whether there is too little memory for another connection. Whoever comes alone is served all the same: a gate that is given less
  /// memory than it takes at rest must not stand still for ever.
  private func isShortOfMemory(_ context: WorkerContext) -> Bool {
    context.limits.memory.pressure != .none && context.connectionLimits.contains { $0.count > 0 }
  }

  /// Takes everything that the kernel has accepted already, and then nothing more: closing the socket would reset it.
  ///
  /// It stops listening for news first. The kernel wakes one of all the processes and workers that wait; whom it woke must take what
  /// came, for no other was told of it.
  func takeLast(of intake: Intake, _ context: WorkerContext) {
    intake.acceptor.pause()
    while intake.acceptor.isOpen, case .connection(let socket) = intake.acceptor.accept() {
      if let slot = intake.limit.reserve(always: true) { serve(socket, slot, intake.listener, context) }
    }
    intake.acceptor.close()
  }

  private func serve(_ socket: Socket, _ slot: consuming ConnectionSlot, _ listener: ServedListener, _ context: WorkerContext) {
    guard let serving else { return socket.close() }
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
    let identifier = ObjectIdentifier(socket)
    connections[identifier] = .busy(Exchange(worker: context, serving: serving, connection: connection))
    context.metrics.connections.add(1)
    begin(identifier)
  }

  /// Serves the connection of a socket until it ends or rests; one that rested goes on.
  func run(_ identifier: ObjectIdentifier) async {
    guard let serving, let served = connections[identifier] else { return }
    let exchange: Exchange
    switch served {
    case .busy(let begun): exchange = begun
    case .resting(let resting):
      exchange = Exchange(worker: resting.context, serving: serving, connection: DownstreamConnection(waking: resting))
      connections[identifier] = .busy(exchange)
    }
    let end = await exchange.run()
    exchange.worker.limits.memory.noteRelease()
    guard end == .closed else {
      connections[identifier] = .resting(exchange.connection.rest(in: self, under: exchange.worker))
      return
    }
    connections[identifier] = nil
    exchange.worker.metrics.connections.add(-1)
    for intake in intakes { intake.connectionEnded.notify() }
  }

  /// Idle connections are the first thing that a process short of descriptors can do without.
  func closeIdleUpstreamsIfShort(_ context: WorkerContext) {
    guard let acceptor = intakes.first?.acceptor, acceptor.isOpen else { return }
    acceptor.checkDescriptors()
    guard acceptor.isShortOfDescriptors else { return }
    for upstream in context.upstreams { upstream.closeIdle() }
  }
}
