import Bytes
import EventLoop
import Gate
import HTTP
import Routing
import Upstream

/// From the gate's admission to the head of the upstream's answer.
extension Exchange {
  /// Interim answers to one request; more are a flood.
  static let interimAnswersMax = 16
  static let answerHeadLimits = HeadLimits(headBytesMax: 64 << 10, startLineBytesMax: 8 << 10, fieldCountMax: 200)

  /// A place at the route's upstream. Waiting for it ends with the client, and with the exchange's time.
  func takeSlot(_ route: ServedRoute) async throws(UpstreamFailure) -> RequestSlot {
    sentAt = worker.loop.now
    connection.outgoing.reset()
    connection.outgoing.deadline = deadline(of: route)
    return try await route.upstream.takeSlot(for: connection.outgoing)
  }

  /// Sends the admitted request to the route's upstream and relays what it answers. `slot` is nil if none was taken yet.
  func forward(
    _ route: ServedRoute, _ path: RequestPath, _ admission: consuming Admission, slot taken: consuming RequestSlot?, spool: BodySpool?
  ) async -> Afterwards {
    record.decision = admission.decision
    // An enrolled, verified key is never limited by address: many share one. Whoever comes too often takes no place in the queue.
    if admission.verifiedKey == nil, let wait = waitForAddress(on: route) { return await refuseAddress(wait: wait) }
    if let key = admission.verifiedKey { connection.likelyKey.note(verified: key) }
    let request = connection.outgoing
    var body: OutgoingBody
    let upstream: UpstreamConnection
    do throws(UpstreamFailure) {
      let slot: RequestSlot
      if let taken { slot = taken } else { slot = try await takeSlot(route) }
      body = prepare(request, route, path, spool)
      sentAt = worker.loop.now
      upstream = try await route.upstream.forward(request, admission: admission, slot: slot)
    } catch {
      record.server = request.serverName
      return await answer(.upstream(error))
    }
    record.server = request.serverName
    do throws(ForwardFailure) {
      try await receiveHead(from: upstream, sending: &body, route, until: request.deadline)
    } catch {
      route.upstream.discard(upstream)
      return await answer(error)
    }
    if upstream.answer.switchesProtocols { return await tunnel(to: upstream, route) }
    return await relayAnswer(
      of: upstream, route, requestEnded: body.hasEnded && upstream.output.isEmpty, until: request.deadline)
  }

  /// How long the client's address must wait before it may send this route another request that no key is verified for.
  private func waitForAddress(on route: ServedRoute) -> UInt64? {
    guard let rate = route.settings.addressRate else { return nil }
    return worker.limits.take(rate, of: connection.network, .route(route.rateNumber), now: worker.loop.now)
  }

  /// Fills the connection's outgoing request; what is returned is the body that follows it.
  private func prepare(_ request: OutgoingRequest, _ route: ServedRoute, _ path: RequestPath, _ spool: BodySpool?) -> OutgoingBody {
    request.isIdempotent = head.method.isIdempotent
    var body = OutgoingBody(
      spool: spool, clientFraming: head.framing, clientBodyHasEnded: connection.body.hasEnded,
      bytesMax: route.settings.streamedBodyBytesMax)
    write(route, path, framing: body.framing, to: &request.head)
    body.fill(request, from: connection)
    return body
  }

  /// The request's head for the upstream, without its end: the verdict's fields come behind.
  private func write(_ route: ServedRoute, _ path: RequestPath, framing: BodyFraming, to output: inout ByteQueue) {
    head.withBytes { bytes in
      let target = bytes.bytes(at: head.target)
      let query: Span<UInt8>? = if let range = path.query { target.bytes(at: range) } else { nil }
      head.writeUpstream(
        to: &output, path: path.normalForm(in: target), query: query, host: route.upstreamHost, framing: framing,
        changes: route.requestChanges)
    }
    writeForwardingFields(to: &output, route.adds)
    askForWebSocket(route, in: &output)
  }

  // MARK: The rest of the body out, the answer's head in

  /// Reads the head of the answer and sends what is left of the request meanwhile, whichever goes on first: a final answer ends the
  /// sending, an interim one says nothing about the rest.
  private func receiveHead(
    from upstream: UpstreamConnection, sending body: inout OutgoingBody, _ route: ServedRoute, until deadline: Instant
  ) async throws(ForwardFailure) {
    if !body.hasEnded {
      guard await sendContinue() else { throw .clientGone }
    }
    let answer = upstream.answer
    answer.reset()
    var interimAnswers = 0
    var answerDeadline: Instant?
    while true {
      let outcome: HeadOutcome =
        upstream.input.isEmpty
        ? .incomplete
        : upstream.input.withReadable {
          answer.parse($0, answering: head.method, asksForWebSocket: record.webSocketKey != nil, limits: Self.answerHeadLimits)
        }
      switch outcome {
      case .complete(let byteCount):
        upstream.input.consume(byteCount)
        guard answer.isInterim else { return try check(answer) }
        interimAnswers += 1
        guard interimAnswers <= Self.interimAnswersMax else { throw .upstream(.invalid("too many interim answers")) }
        try await relayInterim(answer)
      case .refused(let refusal): throw .upstream(.invalid(refusal.detail))
      case .incomplete:
        guard try await send(&body, to: upstream, route, until: deadline, &answerDeadline) else { continue }
        try read(upstream, hasBegun: !upstream.input.isEmpty || interimAnswers > 0)
      }
    }
  }

  private func check(_ answer: ResponseHead) throws(ForwardFailure) {
    guard !answer.switchesProtocols || isAnsweredRightly(by: answer) else {
      throw .upstream(.invalid("the protocol was switched without the answer to the client's key"))
    }
  }

  /// A 100 is for whoever asked for it, which was the gate; others are for the client, if it knows them (RFC 9110 section 15.2).
  private func relayInterim(_ answer: ResponseHead) async throws(ForwardFailure) {
    guard answer.status != 100, head.version == .http11 else { return }
    answer.writeInterim(to: &connection.output)
    guard await connection.flush() else { throw .clientGone }
  }

  /// Sends what can be sent, then waits until that or the answer can go on; true when there is something of the answer to read.
  /// `answerDeadline` is set once all was sent.
  private func send(
    _ body: inout OutgoingBody, to upstream: UpstreamConnection, _ route: ServedRoute, until deadline: Instant,
    _ answerDeadline: inout Instant?
  ) async throws(ForwardFailure) -> Bool {
    let loop = worker.loop
    let patience = loop.now.advanced(byMilliseconds: route.upstream.settings.responseTimeoutMilliseconds)
    switch try body.advance(from: connection, to: upstream) {
    case .moved:
      await loop.giveWay()
      return upstream.socket.hasSomethingToRead
    case .sent, .refused:
      let limit = answerDeadline ?? min(deadline, patience)
      answerDeadline = limit
      switch await loop.wait(for: .readable(upstream.socket), or: .hangUp(connection.socket), until: limit) {
      case .ready(0): return true
      case .ready: throw .clientGone
      case .timedOut: throw .upstream(.timedOut)
      }
    case .needsUpstream:
      let limit = min(deadline, patience)
      switch await loop.wait(
        for: .readable(upstream.socket), or: .writable(upstream.socket), or: .hangUp(connection.socket), until: limit)
      {
      case .ready(0): return true
      case .ready(1): return false
      case .ready: throw .clientGone
      case .timedOut: throw .upstream(.timedOut)
      }
    case .needsClient:
      let start = loop.now
      let outcome = await loop.wait(
        for: .readable(upstream.socket), or: .readable(connection.socket), until: min(deadline, connection.bodyDeadline))
      connection.noteBodyWait(since: start)
      switch outcome {
      case .ready(0): return true
      case .ready: return try readMoreOfBody()
      case .timedOut:
        connection.countBodyTimeout(deadline)
        throw .bodyTimedOut
      }
    }
  }

  /// Reads from the client; that tells nothing about the answer.
  private func readMoreOfBody() throws(ForwardFailure) -> Bool {
    switch connection.socket.read(into: &connection.input) {
    case .bytes, .wouldBlock: return false
    case .end, .failed: throw .clientGone
    }
  }

  private func read(_ upstream: UpstreamConnection, hasBegun: Bool) throws(ForwardFailure) {
    switch upstream.socket.read(into: &upstream.input) {
    case .bytes, .wouldBlock: return
    case .end, .failed: throw .upstream(hasBegun ? .brokenOff : .closedEarly)
    }
  }

  // MARK: Failing

  /// Counts which time ran out: the route's own, or `patience`, the upstream's.
  func countTimeout(_ failure: UpstreamFailure, _ route: ServedRoute, patience: LimitMetrics.Timeout) {
    guard failure == .timedOut else { return }
    worker.metrics.limits.count(deadline(of: route) <= worker.loop.now ? .request : patience)
  }

  /// Tells the client why its request has no answer of the upstream's.
  func answer(_ failure: ForwardFailure) async -> Afterwards {
    switch failure {
    case .clientGone: return abandon()
    case .bodyMalformed: return await refuse(.httpMalformed, "the chunked body is malformed", closes: true)
    case .bodyTimedOut: return await refuse(.requestTimeout, "the body did not come in time", closes: true)
    case .bodyTooLarge: return await refuse(.bodyTooLarge, "the body is longer than this route takes", closes: true)
    case .bodyUnreadable: return await refuse(.internalError, "the stored body could not be read", closes: true)
    case .upstream(let failure):
      record.upstreamFailure = failure.reason
      record.upstreamNanoseconds = worker.loop.now.nanoseconds - sentAt.nanoseconds
      if failure == .abandoned { return abandon() }
      if failure.code == .overloaded { return await refuse(.overloaded, "too many requests are under way") }
      if let route = record.route { countTimeout(failure, worker.routes[route], patience: .response) }
      let isLate = failure.code == .upstreamTimeout
      return await refuse(failure.code, isLate ? "the upstream did not answer in time" : "the upstream gave no valid answer")
    }
  }
}
