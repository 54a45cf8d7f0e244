import Bytes
import EventLoop
import Gate
import HTTP

/// Answers that the gate makes itself.
extension Exchange {
  /// Refuses the request. Unless the framing is lost, the connection goes on if the body is here already, or there is none.
  func refuse(
    _ code: ProblemCode, _ detail: String, allow: String? = nil, closes: Bool = false, retryAfter seconds: Int? = nil
  ) async -> Afterwards {
    var document = ProblemDocument(code, detail: detail, requestID: record.identifierText)
    if let allow { document.fields.append(AnswerField("Allow", Array(allow.utf8))) }
    if seconds != nil || document.status == 503 { document.fields.append(.retryAfter(seconds: seconds ?? 1)) }
    return await answer(document, closes: closes)
  }

  /// Refuses a request of an address that comes too often; `nanoseconds` is how long it must wait for the next one.
  func refuseAddress(wait nanoseconds: UInt64) async -> Afterwards {
    worker.metrics.limits.count(.address)
    return await refuse(.rateLimited, "too many requests come from this address", retryAfter: Int(nanoseconds / 1_000_000_000) + 1)
  }

  /// Refuses the request for what is wrong with its head; when that was the parser's word, nothing behind it can be trusted.
  func refuseHead(_ refusal: HeadRefusal) async -> Afterwards {
    await answer(ProblemDocument(refusal, requestID: record.identifierText), closes: true)
  }

  /// Gives the gate's refusal to the client.
  func refuse(_ refusal: Refusal) async -> Afterwards {
    record.decision = refusal.decision
    return await answer(refusal.document(requestID: record.identifierText), closes: false)
  }

  private func answer(_ document: ProblemDocument, closes: Bool) async -> Afterwards {
    record.code = document.code
    record.detail = document.detail
    return await answer(document.answer, closes: closes)
  }

  /// Sends an answer of the gate's own.
  func answer(_ answer: LocalAnswer, closes: Bool = false) async -> Afterwards {
    record.status = answer.status
    let keepsAlive = !closes && head.keepsAlive && !isLastAnswer && bodyIsOutOfTheWay
    answer.write(
      to: &connection.output, answering: head.method, version: head.version, closes: !keepsAlive, date: worker.date)
    if !keepsAlive { connection.socket.expectEnd() }
    guard await connection.flush() else { return abandon() }
    return keepsAlive ? .keepAlive : .linger
  }

  /// A client that waits for its 100 may or may not send the body now that it is refused, so what follows cannot be told (RFC 9110
  /// section 10.1.1).
  private var bodyIsOutOfTheWay: Bool {
    connection.body.hasEnded || (!(head.expectsContinue && !hasContinued) && connection.dropBodyThatIsHere())
  }

  /// `OPTIONS *` is about the gate itself (RFC 9110 section 9.3.7).
  func answerServerOptions() async -> Afterwards {
    await answer(LocalAnswer(status: 204, fields: [.allow(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])]))
  }
}
