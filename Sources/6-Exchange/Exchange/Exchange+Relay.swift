import Bytes
import EventLoop
import Gate
import HTTP
import Telemetry
import Upstream

/// From the answer's head to its last byte.
extension Exchange {
  /// Relays the answer whose head was received, and decides what becomes of both connections.
  func relayAnswer(
    of upstream: UpstreamConnection, _ route: ServedRoute, requestEnded: Bool, until deadline: Instant
  ) async -> Afterwards {
    let answer = upstream.answer
    let waited = worker.loop.now.nanoseconds - sentAt.nanoseconds
    record.upstreamNanoseconds = waited
    route.upstream.metrics.duration.observe(nanoseconds: waited)
    let framing = answer.framing
    let form = form(of: answer, route)
    let answerKeepsAlive = answer.keepsAlive
    record.status = answer.status
    let bytesWrittenBefore = connection.bytesWritten
    answer.writeDownstream(to: &connection.output, form: form, changes: route.responseChanges, date: worker.date)
    connection.output.appendEndOfHead()
    connection.answerEndsWithConnection = form.framing == .untilClose
    let relayed = await relayBody(of: upstream, framing, as: form, route, until: deadline)
    if relayed == .ended { connection.answerEndsWithConnection = false }
    let isReusable = ConnectionReuse.ofUpstream(
      answerKeepsAlive: answerKeepsAlive, answerFraming: framing, answerEnded: relayed == .ended, requestEnded: requestEnded,
      surplusBytes: upstream.input.count)
    route.upstream.giveBack(upstream, isReusable: isReusable)
    if case .brokenOff(let failure) = relayed, connection.bytesWritten == bytesWrittenBefore, !connection.socket.hasUnfinishedWrite {
      // The body is bad from its first bytes on, and nothing has left yet: there is still time to say so.
      connection.output.removeAll()
      connection.answerEndsWithConnection = false
      return await self.answer(.upstream(failure))
    }
    return afterwards(of: relayed, form, route)
  }

  private func form(of answer: ResponseHead, _ route: ServedRoute) -> AnswerForm {
    let policy = route.policy
    let framing = answer.framing(forClient: head.version)
    let keepsAlive = ConnectionReuse.ofClient(
      requestKeepsAlive: head.keepsAlive, requestBodyEnded: connection.body.hasEnded, answerFraming: framing,
      answerEnded: true, isDraining: isLastAnswer)
    return AnswerForm(
      version: head.version, framing: framing, closes: !keepsAlive, isPrivate: policy.mode == .enforce && policy.marksAnswersPrivate)
  }

  private func afterwards(of relayed: Relayed, _ form: AnswerForm, _ route: ServedRoute) -> Afterwards {
    switch relayed {
    case .ended: return form.closes ? .linger : .keepAlive
    case .clientGone:
      record.status = ExchangeRecord.clientClosed
      switch connection.pace.ranOut {
      case .write: record.detail = "the client took nothing of the answer for write_timeout"
      case .writeRate: record.detail = "the client took the answer more slowly than write_min_rate"
      default: break
      }
      return .close
    case .brokenOff(let failure):
      // The client must see that the answer was cut short: no last chunk, no end of a length; a reset where only the close would tell.
      record.upstreamFailure = failure.reason
      countTimeout(failure, route, patience: .upstreamIdle)
      if connection.answerEndsWithConnection { connection.socket.resetOnClose() }
      return .close
    }
  }

  // MARK: The body

  enum Relayed: Equatable {
    case ended
    case clientGone
    case brokenOff(UpstreamFailure)
  }

  /// Passes the body on as it comes; nothing more is read from the upstream before the client took what is here.
  private func relayBody(
    of upstream: UpstreamConnection, _ framing: BodyFraming, as form: AnswerForm, _ route: ServedRoute, until deadline: Instant
  ) async -> Relayed {
    var decoder = BodyDecoder(framing, limits: Self.answerHeadLimits)
    // An answer that does not end soon may take hours: from then on it is relayed without the memory that its request took.
    var releaseAt = worker.loop.now.advanced(byMilliseconds: DownstreamConnection.busyMilliseconds)
    while true {
      if let fault = move(&decoder, from: upstream, as: form.framing) { return .brokenOff(.invalid("\(fault)")) }
      if decoder.hasEnded && form.closes { connection.socket.expectEnd() }
      guard await connection.flush(until: deadline) else {
        return deadline <= worker.loop.now ? .brokenOff(.timedOut) : .clientGone
      }
      if decoder.hasEnded { return .ended }
      if releaseAt <= worker.loop.now {
        releaseAt = .never
        releaseStorageOfRequest(upstream)
      }
      await worker.loop.giveWay()
      let limit = min(deadline, worker.loop.now.advanced(byMilliseconds: route.upstream.settings.idleTimeoutMilliseconds))
      switch await worker.loop.wait(for: .readable(upstream.socket), or: .hangUp(connection.socket), until: min(limit, releaseAt)) {
      case .ready(0): break
      case .ready: return .clientGone
      case .timedOut:
        // It may have been the moment to release memory, once.
        guard limit <= worker.loop.now else { continue }
        return .brokenOff(.timedOut)
      }
      switch upstream.socket.read(into: &upstream.input, minimum: OutgoingBody.pendingBytesMax) {
      case .bytes, .wouldBlock: continue
      case .failed: return .brokenOff(.brokenOff)
      case .end:
        guard case .end = decoder.atEndOfInput() else { return .brokenOff(.brokenOff) }
        if form.framing == .chunked { ChunkedEncoder.appendEnd(to: &connection.output) }
        if form.closes { connection.socket.expectEnd() }
        return await connection.flush(until: deadline) ? .ended : .clientGone
      }
    }
  }

  private func releaseStorageOfRequest(_ upstream: UpstreamConnection) {
    connection.outgoing.releaseStorage()
    connection.input.releaseStorageIfEmpty()
    upstream.releaseStorage()
  }

  /// Moves what has come to the client's queue, framed for it.
  private func move(_ decoder: inout BodyDecoder, from upstream: UpstreamConnection, as clientFraming: BodyFraming) -> BodyFault? {
    let hadEnded = decoder.hasEnded
    while !decoder.hasEnded && !upstream.input.isEmpty {
      let event = upstream.input.withReadable { bytes in
        let event = decoder.next(in: bytes)
        if case .data(let range, _) = event {
          if clientFraming == .chunked {
            ChunkedEncoder.append(bytes.bytes(at: range), to: &connection.output)
          } else {
            connection.output.append(bytes.bytes(at: range))
          }
        }
        return event
      }
      switch event {
      case .data(_, let consumed), .needMore(let consumed), .end(let consumed): upstream.input.consume(consumed)
      case .malformed(let fault): return fault
      }
      if case .needMore = event { break }
    }
    if decoder.hasEnded && !hadEnded && clientFraming == .chunked { ChunkedEncoder.appendEnd(to: &connection.output) }
    return nil
  }
}
