public import Bytes

/// A refusal as the client sees it (RFC 9457; wire.md, "What the client sees when rejected").
public struct ProblemDocument: Sendable {
  /// What clients act on.
  public var code: ProblemCode
  /// The code's, unless the place of the refusal has another.
  public var status: Int
  /// The code's, unless the place of the refusal has another.
  public var recovery: Recovery
  /// What is wrong with this request; never an internal detail.
  public var detail: String
  /// The request's identifier, as in the log.
  public var requestID: [UInt8]
  /// Fields besides those of every answer of the gate: `WWW-Authenticate`, `Allow`, `Retry-After`.
  public var fields: [AnswerField]

  /// A document for `code`.
  public init(_ code: ProblemCode, detail: String, requestID: [UInt8], fields: [AnswerField] = []) {
    self.code = code
    status = code.status
    recovery = code.recovery
    self.detail = detail
    self.requestID = requestID
    self.fields = fields
  }

  /// A document for a head that is refused.
  public init(_ refusal: HeadRefusal, requestID: [UInt8]) {
    self.init(refusal.code, detail: refusal.detail, requestID: requestID)
    status = refusal.status
    if refusal == .methodNotAllowed { fields = [.allow(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])] }
  }

  /// The answer with the document as its body.
  public var answer: LocalAnswer {
    var body = ByteQueue()
    body.reserve(512)
    body.append("{\"type\":")
    JSONText.append("urn:attestgate:problem:\(code.rawValue)", to: &body)
    body.append(",\"title\":")
    JSONText.append(code.title, to: &body)
    body.append(",\"status\":")
    body.append(decimal: status)
    body.append(",\"detail\":")
    JSONText.append(detail, to: &body)
    body.append(",\"code\":")
    JSONText.append(code.rawValue, to: &body)
    body.append(",\"recovery\":")
    JSONText.append(recovery.rawValue, to: &body)
    body.append(",\"request_id\":")
    JSONText.append(requestID.span, to: &body)
    body.append("}\n")
    return LocalAnswer(status: status, contentType: "application/problem+json", fields: fields, body: body.copied())
  }

  /// Appends the whole answer, as ``LocalAnswer/write(to:answering:version:closes:date:)`` does.
  public func write(
    to output: inout ByteQueue, answering method: RequestMethod, version: HTTPVersion, closes: Bool, date: HTTPDate
  ) {
    answer.write(to: &output, answering: method, version: version, closes: closes, date: date)
  }
}
