import Bytes
import EventLoop
import Gate
import HTTP
import Routing
import TLS
import Telemetry
import Upstream

/// What becomes of a client's connection after an exchange.
enum Afterwards {
  /// Another request is read.
  case keepAlive
  /// It is closed, with time for the client to read its answer.
  case linger
  /// It is closed at once.
  case close
}

/// Why a connection is served no longer.
enum ServingEnd {
  /// It is closed.
  case closed
  /// Nothing has come for a moment: it goes on when something does.
  case idle
}

/// The life of a client's connection: one request after the other, each in straight-line code, a function a step.
///
/// `serve` is the way of a request: locate, prepare, examine, read the body, admit, forward, relay.
final class Exchange {
  /// What serves the request: from its begin to its end the same, whatever the worker goes over to meanwhile.
  private(set) var worker: WorkerContext
  private let serving: Serving
  let connection: DownstreamConnection
  private let guardedRecord: Guarded<ExchangeRecord>
  var record: ExchangeRecord {
    _read { yield guardedRecord.value }
    _modify { yield &guardedRecord.value }
  }
  /// Whether the client was told to go on with its body.
  var hasContinued = false
  /// When the request began to go to the upstream.
  var sentAt = Instant(nanoseconds: 0)
  /// Should the process crash, this names the request.
  let reported = ReportedRequest()

  var head: RequestHead { connection.head }

  init(worker: WorkerContext, serving: Serving, connection: DownstreamConnection) {
    self.worker = worker
    self.serving = serving
    self.connection = connection
    guardedRecord = Guarded(ExchangeRecord(identifier: worker.nextIdentifier(), startedAt: worker.loop.now))
  }

  /// Serves requests until the connection ends or is idle.
  func run() async -> ServingEnd {
    if !connection.isEstablished {
      guard await establish() else {
        connection.socket.close()
        return .closed
      }
    }
    while true {
      let afterwards: Afterwards
      switch await connection.readHead() {
      case .idle: return .idle
      case .closed: afterwards = .close
      case .request:
        begin()
        afterwards = await serve()
        finish()
      case .refused(let refusal):
        begin()
        afterwards = await refuseHead(refusal)
        finish()
      case .timedOut:
        begin()
        worker.metrics.limits.count(.head)
        afterwards = await refuse(.requestTimeout, "the head did not end in time", closes: true)
        finish()
      case .overloaded:
        begin()
        afterwards = await refuseForMemory()
        finish()
      }
      switch afterwards {
      case .keepAlive:
        // A client whose requests are here already could keep the loop to itself.
        if !connection.input.isEmpty || connection.socket.hasSomethingToRead { await worker.loop.giveWay() }
      case .linger:
        if connection.hasServedAll { worker.metrics.limits.requestsPerConnectionReached.add() }
        await connection.closeLingering()
        return .closed
      case .close:
        connection.socket.close()
        return .closed
      }
    }
  }

  /// What comes before the first request; false when it fails.
  private func establish() async -> Bool {
    if connection.listener.settings.expectsProxyHeader, let refusal = await connection.readProxyHeader() {
      worker.metrics.countProxyHeader(refusal)
      if refusal == .tooManyConnections { worker.metrics.limits.refusedByAddress.add() }
      return false
    }
    if let failure = await connection.secure(counting: worker.metrics.handshakes) {
      worker.metrics.handshakes.count(failure)
      worker.handshakeLog.note(failure, of: connection.client, at: connection.listener.settings.bind, now: worker.loop.now)
      if failure.side == .time { worker.metrics.limits.count(.handshake) }
      return false
    }
    connection.isEstablished = true
    return true
  }

  private func begin() {
    followConfiguration()
    worker.metrics.requestsInFlight.add(1)
    record = ExchangeRecord(identifier: worker.nextIdentifier(), startedAt: worker.loop.now)
    record.bytesWrittenBefore = connection.bytesWritten
    if connection.believesForwarding { connection.client = connection.peer }
    hasContinued = false
    reported.begin(record.identifier.high, record.identifier.low)
  }

  /// Goes over to what the worker serves now, if its listener is still there.
  private func followConfiguration() {
    let current = serving.context
    guard worker !== current else { return }
    guard let listener = current.listeners.first(where: { $0.takesConnections(of: connection.listener) }) else { return }
    worker = current
    connection.follow(listener)
  }

  /// Whether the configuration has no place for the connection any more.
  var isLeftOver: Bool { serving.hasDropped(connection.listener, of: worker, connection.tls) }

  /// The end of every exchange, whatever became of it: log line and metrics.
  private func finish() {
    worker.metrics.requestsInFlight.add(-1)
    let metrics = record.route.map { worker.routes[$0].metrics } ?? (record.isEndpoint ? worker.endpointMetrics : worker.noRouteMetrics)
    metrics.count(
      method: head.isComplete ? head.method : .other, status: record.status,
      nanoseconds: record.tunnel?.openedAfterNanoseconds ?? worker.loop.now.nanoseconds - record.startedAt.nanoseconds)
    if let decision = record.decision {
      metrics.count(decision)
      if decision.reason == .rateLimited { worker.metrics.limits.count(.key) }
    }
    if worker.accessLog.isOn { worker.accessLog.write(record, connection, routes: worker.routes) }
    reported.end()
  }

  // MARK: Locating

  private func serve() async -> Afterwards {
    if worker.limits.memory.pressure == .critical { return await refuseForMemory() }
    if connection.believesForwarding, let refusal = believeForwarding() { return await refuseHead(refusal) }
    if head.targetForm == .asterisk { return await answerServerOptions() }
    let path: RequestPath
    switch head.withBytes({ RequestPath.normalise($0.bytes(at: head.target)) }) {
    case .path(let found): path = found
    case .ambiguous(let ambiguity): return await refuse(.pathAmbiguous, ambiguity.detail)
    }
    if let endpoint = endpoint(at: path) { return await serve(endpoint, path) }
    switch match(path) {
    case .route(let index):
      record.route = index
      return await serve(worker.routes[index], path)
    case .methodNotAllowed(let allow): return await refuse(.methodNotAllowed, "the path is served with other methods", allow: allow)
    case .none: return await refuse(.noRoute, "no route takes this host and path")
    case .refusedFeature(let features):
      return await refuse(.pathAmbiguous, "the route does not allow in its path: \(features.names.joined(separator: ", "))")
    case .readsOntoGatedRoute: return await refuse(.pathAmbiguous, "the path can be read as another route's")
    }
  }

  private func match(_ path: RequestPath) -> RouteMatch {
    head.withBytes { bytes in
      worker.match(
        host: bytes.bytes(at: head.authority ?? .empty), path: path, target: bytes.bytes(at: head.target),
        method: bytes.bytes(at: head.methodRange))
    }
  }

  // MARK: Gating

  private func serve(_ route: ServedRoute, _ path: RequestPath) async -> Afterwards {
    let fields = connection.listener.fieldPolicies[record.route ?? 0]
    if let refusal = head.prepareFields(fields, believesForwarding: connection.believesForwarding) { return await refuseHead(refusal) }
    if let admission = Admission.open(under: route.policy) {
      if case .length(let count) = head.framing, count > route.settings.streamedBodyBytesMax {
        return await refuse(.bodyTooLarge, "the body is longer than this route takes")
      }
      return await forward(route, path, admission, slot: nil, spool: nil)
    }
    let gateStart = Instant.now
    let examination = await worker.gate.examine(read(path, under: route.policy), hint: connection.likelyKey.value)
    record.gateNanoseconds = Instant.now.nanoseconds - gateStart.nanoseconds
    switch consume examination {
    case .needsBody(let examined): return await readBody(route, path, examined)
    case .judged(let judgement): return await act(on: judgement, route, path, spool: nil)
    }
  }

  /// Steps 6 and 7 of wire.md: only a request whose signature holds makes the gate hold a body.
  private func readBody(_ route: ServedRoute, _ path: RequestPath, _ examined: consuming ExaminedRequest) async -> Afterwards {
    let policy = route.policy
    let memoryBytesMax = worker.limits.memory.pressure == .none ? policy.bodyMemoryBytes : min(policy.bodyMemoryBytes, Socket.readBytes)
    let spool = BodySpool(bytesMax: policy.bodyBytesMax, memoryBytesMax: memoryBytesMax, folder: worker.site.temporaryFolder)
    let evidence: BodyEvidence
    switch await read(into: spool, until: deadline(of: route)) {
    case .ended where spool.byteCount <= policy.bodyBytesMax && !spool.hasFailed:
      evidence = .read(ReadBody(byteCount: spool.byteCount, digest: spool.digest()))
    case .ended, .paused: evidence = spool.hasFailed ? .notStored : .tooLarge
    case .malformed: return await refuse(.httpMalformed, "the chunked body is malformed", closes: true)
    case .timedOut: return await refuse(.requestTimeout, "the body did not come in time", closes: true)
    case .closed: return abandon()
    }
    let gateStart = Instant.now
    let judgement = await worker.gate.judge(examined, body: evidence)
    record.gateNanoseconds += Instant.now.nanoseconds - gateStart.nanoseconds
    return await act(on: judgement, route, path, spool: spool)
  }

  private func act(
    on judgement: consuming Judgement, _ route: ServedRoute, _ path: RequestPath, spool: BodySpool?
  ) async -> Afterwards {
    switch consume judgement {
    case .passed(let passed): return await admit(route, path, passed, spool: spool)
    case .admit(let admission): return await forward(route, path, admission, slot: nil, spool: spool)
    case .refuse(let refusal): return await refuse(refusal)
    }
  }

  /// Step 8 of wire.md. The upstream's place comes first: a request that finds none has used nothing up.
  private func admit(
    _ route: ServedRoute, _ path: RequestPath, _ passed: consuming PassedRequest, spool: BodySpool?
  ) async -> Afterwards {
    let slot: RequestSlot
    do throws(UpstreamFailure) {
      slot = try await takeSlot(route)
    } catch {
      return await answer(.upstream(error))
    }
    let gateStart = Instant.now
    let verdict = await worker.gate.admit(passed)
    record.gateNanoseconds += Instant.now.nanoseconds - gateStart.nanoseconds
    switch consume verdict {
    case .admit(let admission): return await forward(route, path, admission, slot: slot, spool: spool)
    case .refuse(let refusal): return await refuse(refusal)
    }
  }

  private func read(into spool: BodySpool, until deadline: Instant) async -> DownstreamConnection.BodyResult {
    guard await sendContinue() else { return .closed }
    return await connection.readBody(until: deadline) { spool.take($0) == .taken }
  }

  /// `100 Continue`, if the client waits for it: sent only when the body is wanted (RFC 9110 section 10.1.1).
  func sendContinue() async -> Bool {
    guard head.expectsContinue, !hasContinued, !connection.body.hasEnded else { return true }
    hasContinued = true
    connection.output.append("HTTP/1.1 100 Continue\r\n\r\n")
    return await connection.flush()
  }

  /// Step 2 of wire.md: what the gate wants to know of the head.
  private func read(_ path: RequestPath, under policy: SharedPolicy) -> ReadRequest {
    head.withBytes { bytes in
      let target = head.target
      let facts = RequestFacts(
        head: bytes, method: head.methodRange, normalPath: path.normalForm(in: bytes.bytes(at: target)),
        rawPath: path.rawPath.moved(by: target.start), query: path.query?.moved(by: target.start) ?? .empty,
        host: head.authority ?? .empty, defaultPort: clientSpeaksTLS ? 443 : 80,
        assertion: head.field(named: policy.inputs.assertion.utf8Span.span),
        clientData: head.field(named: policy.inputs.clientData.utf8Span.span),
        keyID: head.field(named: policy.inputs.keyID.utf8Span.span), body: bodyLength)
      return worker.gate.read(facts, policy: policy)
    }
  }

  private var bodyLength: BodyLength {
    switch head.framing {
    case .none: .none
    case .length(let count): count == 0 ? .none : .known(count)
    case .chunked, .untilClose: .unknown
    }
  }

  // MARK: Limits

  private func refuseForMemory() async -> Afterwards { await refuse(.overloaded, "the gate is short of memory", closes: true) }

  /// When the route's `timeout` ends the exchange.
  func deadline(of route: ServedRoute) -> Instant {
    route.settings.timeoutMilliseconds.map { record.startedAt.advanced(byMilliseconds: $0) } ?? .never
  }

  /// Whether the connection ends with this answer, whatever the request and the answer say.
  var isLastAnswer: Bool { serving.isDraining || connection.hasServedAll || isLeftOver }

  // MARK: Ends

  /// The client went away before it was answered.
  func abandon() -> Afterwards {
    record.status = ExchangeRecord.clientClosed
    return .close
  }
}
