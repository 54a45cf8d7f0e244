import Bytes
import EventLoop
import Gate
import HTTP
import Routing
import Upstream

/// From the gate's admission to the end of the request's body.
extension Exchange {
  /// Sends the admitted request to the route's upstream and relays what it answers.
  func forward(_ route: ServedRoute, _ path: RequestPath, _ admission: consuming Admission, spool: BodySpool?) async -> Afterwards {
    record.decision = admission.decision
    if let key = admission.verifiedKey { connection.lastKey = key }
    let request = connection.outgoing
    request.reset()
    request.isIdempotent = head.method.isIdempotent
    if let limit = route.settings.timeoutMilliseconds { request.deadline = record.startedAt.advanced(byMilliseconds: limit) }
    let bodyHasEnded = connection.body.hasEnded
    var body = OutgoingBody(spool: spool, clientFraming: head.framing, clientBodyHasEnded: bodyHasEnded)
    write(route, path, framing: body.framing, to: &request.head)
    body.fill(request, from: connection)
    sentAt = worker.loop.now
    let upstream: UpstreamConnection
    do throws(UpstreamFailure) {
      upstream = try await route.upstream.forward(request, admission: admission)
    } catch {
      return await fail(error)
    }
    record.server = upstream.serverName
    var requestEnded = true
    if request.bodyFollows {
      switch await send(&body, to: upstream, of: route, until: request.deadline) {
      case .ended: break
      case .answeredEarly: requestEnded = false
      case let failure:
        route.upstream.discard(upstream)
        return await fail(failure)
      }
    }
    return await relayAnswer(of: upstream, route, requestEnded: requestEnded, until: request.deadline)
  }

  /// The request's head for the upstream, without its end: the verdict's fields come behind.
  private func write(_ route: ServedRoute, _ path: RequestPath, framing: BodyFraming, to output: inout ByteQueue) {
    head.withBytes { bytes in
      let target = bytes.bytes(at: head.target)
      let query: Span<UInt8>? = if let range = path.query { target.bytes(at: range) } else { nil }
      head.writeUpstream(
        to: &output, path: path.normalForm(in: target), query: query, host: route.upstreamHost, framing: framing,
        changes: route.requestChanges)
      output.append(connection.forwardedFields)
      if let authority = head.authority {
        output.append("X-Forwarded-Host: ")
        output.append(bytes.bytes(at: authority))
        output.append("\r\n")
      }
    }
    output.append("X-Request-Id: ")
    let identifier = record.identifier
    identifier.append(to: &output)
    output.append("\r\n")
  }

  // MARK: The body

  enum Sending {
    /// Every byte of the request was sent.
    case ended
    /// The upstream answered, or closed, while the body was going out: it wants no more.
    case answeredEarly
    case clientMalformed
    case clientTimedOut
    case clientClosed
    case tooLarge
    case storageFailed
    case upstreamTimedOut
  }

  /// Sends a body that is not here whole, as it comes, with back-pressure both ways.
  private func send(
    _ body: inout OutgoingBody, to upstream: UpstreamConnection, of route: ServedRoute, until deadline: Instant
  ) async -> Sending {
    guard await sendContinue() else { return .clientClosed }
    var hasEnded = false
    while true {
      if !hasEnded && upstream.output.count < OutgoingBody.pendingBytesMax {
        switch body.fetch(from: connection, to: &upstream.output) {
        case .ended: hasEnded = true
        case .malformed: return .clientMalformed
        case .failed: return .storageFailed
        case .appended, .nothing: break
        }
        if isOverLimit(route) { return .tooLarge }
      }
      switch upstream.socket.write(from: &upstream.output) {
      case .complete:
        if hasEnded { return .ended }
        if let stop = await fetchMore(upstream, until: deadline) { return stop }
      case .failed: return .answeredEarly
      case .wouldBlock:
        let stall = min(deadline, worker.loop.now.advanced(byMilliseconds: route.upstream.settings.responseTimeoutMilliseconds))
        switch await worker.loop.wait(
          for: .writable(upstream.socket), or: .readable(upstream.socket), or: .hangUp(connection.socket), until: stall)
        {
        case .ready(0): continue
        case .ready(1): return .answeredEarly
        case .ready: return .clientClosed
        case .timedOut: return .upstreamTimedOut
        }
      }
    }
  }

  /// Reads more of the body from the client, watching for an answer that comes before it has ended. Nil to go on.
  private func fetchMore(_ upstream: UpstreamConnection, until deadline: Instant) async -> Sending? {
    if connection.body.hasEnded { return nil }
    let silence = worker.loop.now.advanced(byMilliseconds: connection.listener.settings.bodyTimeoutMilliseconds)
    switch await worker.loop.wait(for: .readable(connection.socket), or: .readable(upstream.socket), until: min(deadline, silence)) {
    case .ready(0): break
    case .ready: return .answeredEarly
    case .timedOut: return deadline < silence ? .upstreamTimedOut : .clientTimedOut
    }
    switch connection.socket.read(into: &connection.input) {
    case .bytes, .wouldBlock: return nil
    case .end, .failed: return .clientClosed
    }
  }

  /// `max_body` holds for streamed bodies too; a monitored route never answers for the gate.
  private func isOverLimit(_ route: ServedRoute) -> Bool {
    route.settings.policy.mode == .enforce && connection.bodyBytesTaken > route.settings.policy.bodyBytesMax
  }

  private func fail(_ failure: Sending) async -> Afterwards {
    switch failure {
    case .clientMalformed: await refuse(.httpMalformed, "the chunked body is malformed", closes: true)
    case .clientTimedOut: await refuse(.requestTimeout, "the body did not come in time", closes: true)
    case .tooLarge: await refuse(.bodyTooLarge, "the body is longer than this route takes", closes: true)
    case .storageFailed: await refuse(.internalError, "the stored body could not be read", closes: true)
    case .upstreamTimedOut: await fail(UpstreamFailure.timedOut)
    case .clientClosed, .ended, .answeredEarly: abandon()
    }
  }

  /// Tells the client that the upstream gave no answer.
  func fail(_ failure: UpstreamFailure) async -> Afterwards {
    record.upstreamFailure = failure.reason
    if failure == .abandoned { return abandon() }
    return await refuse(
      failure.code, failure.code == .upstreamTimeout ? "the upstream did not answer in time" : "the upstream gave no valid answer")
  }
}
