import Bytes
import EventLoop
import Gate
import HTTP
import Routing

/// The gate's own endpoints, answered before any route.
extension Exchange {
  enum Endpoint {
    case attestationChallenge
    case enrolment
    case assertionChallenge
  }

  /// The endpoint at a path; with or without a final slash, as routes are.
  func endpoint(at path: RequestPath) -> Endpoint? {
    let endpoints = worker.endpointPaths
    return head.withBytes { bytes in
      var found = path.normalForm(in: bytes.bytes(at: head.target))
      if found.count > 1, found[found.count - 1] == UInt8(ascii: "/") { found = found.extracting(0..<found.count - 1) }
      if found.equals(endpoints.assertChallenge.span) { return .assertionChallenge }
      guard endpoints.enrols else { return nil }
      if found.equals(endpoints.attestChallenge.span) { return .attestationChallenge }
      return found.equals(endpoints.attestVerify.span) ? .enrolment : nil
    }
  }

  func serve(_ endpoint: Endpoint, _ path: RequestPath) async -> Afterwards {
    record.isEndpoint = true
    let settings = worker.site.endpoints
    if let wait = worker.limits.take(settings.addressRate, of: connection.network, .endpoints, now: worker.loop.now) {
      return await refuseAddress(wait: wait)
    }
    let isRead = head.method == .get || head.method == .head
    switch endpoint {
    case .attestationChallenge where isRead: return await give(worker.challenges.attestationChallenge())
    case .assertionChallenge where isRead:
      let query = path.query.map { range in head.withBytes { Array(copying: $0.bytes(at: head.target).bytes(at: range)) } }
      return await give(worker.challenges.assertionChallenge(keyID: keyIDInput, query: query))
    case .enrolment where head.method == .post: return await enroll()
    case .enrolment: return await refuse(.methodNotAllowed, "keys are enrolled with POST", allow: "POST")
    default: return await refuse(.methodNotAllowed, "challenges are fetched with GET", allow: "GET, HEAD")
    }
  }

  private var keyIDInput: FieldInput {
    switch head.field(named: Array("x-app-attest-key-id".utf8).span) {
    case .absent: .absent
    case .one(let range): .one(head.withBytes { Array(copying: $0.bytes(at: range)) })
    case .repeated: .repeated
    }
  }

  private func enroll() async -> Afterwards {
    let tooLarge = "an enrolment is at most \(EnrolmentEndpoint.bodyBytesMax) bytes"
    if case .length(let count) = head.framing, count > EnrolmentEndpoint.bodyBytesMax { return await refuse(.bodyTooLarge, tooLarge) }
    guard await sendContinue() else { return abandon() }
    var body: [UInt8] = []
    let result = await connection.readBody { bytes in
      for index in bytes.indices { body.append(bytes[index]) }
      return body.count <= EnrolmentEndpoint.bodyBytesMax
    }
    switch result {
    case .ended where body.count <= EnrolmentEndpoint.bodyBytesMax:
      let (limits, rate, loop) = (worker.limits, worker.site.endpoints.enrolmentRate, worker.loop)
      return await give(worker.enrolments.enroll(body: body) { limits.takeEnrolment(rate, now: loop.now) })
    case .ended, .paused: return await refuse(.bodyTooLarge, tooLarge)
    case .malformed: return await refuse(.httpMalformed, "the chunked body is malformed", closes: true)
    case .timedOut: return await refuse(.requestTimeout, "the body did not come in time", closes: true)
    case .closed: return abandon()
    }
  }

  private func give(_ endpointAnswer: EndpointAnswer) async -> Afterwards {
    if case .refused(let refusal) = endpointAnswer {
      record.code = refusal.code
      record.detail = refusal.reason ?? refusal.detail
      record.decision = refusal.decision
      if refusal.code == .rateLimited { worker.metrics.limits.count(.enrolment) }
    }
    return await answer(endpointAnswer.answer(asksForJSON: head.acceptsJSONRatherThanText, requestID: record.identifierText))
  }
}
