import Bytes
import HTTP

/// What a test looks at in a parsed request, as values that can be compared.
struct RequestSummary: Equatable {
  var method: String
  var target: String
  var authority: String?
  var host: String?
  var version: HTTPVersion
  var form: TargetForm
  var framing: BodyFraming
  var keepsAlive: Bool
  var expectsContinue: Bool
  var fieldCount: Int
}

extension RequestHead {
  func text(_ range: ByteRange) -> String {
    withBytes { String(decoding: [UInt8](copying: $0.bytes(at: range)), as: UTF8.self) }
  }

  var summary: RequestSummary {
    RequestSummary(
      method: text(methodRange), target: text(target), authority: authority.map(text), host: host.map(text), version: version,
      form: targetForm, framing: framing, keepsAlive: keepsAlive, expectsContinue: expectsContinue, fieldCount: fieldCount)
  }

  func lookUp(_ name: String) -> FieldLookup { field(named: Array(name.utf8).span) }

  /// The value of the one field `name`.
  func value(_ name: String) -> String? {
    if case .one(let range) = lookUp(name) { text(range) } else { nil }
  }

  func parse(_ text: String, limits: HeadLimits = HeadLimits()) -> HeadOutcome { parse(Array(text.utf8).span, limits: limits) }

  /// The head as it is written for an upstream, with the empty line.
  func written(
    policy: FieldPolicy = FieldPolicy(), host: UpstreamHost = .client(otherwise: Array("upstream".utf8)), framing: BodyFraming? = nil
  ) -> String {
    if let refusal = prepareFields(policy) { return "refused: \(refusal)" }
    var output = ByteQueue()
    writeUpstream(to: &output, host: host, framing: framing ?? self.framing, changes: policy.changes)
    output.appendEndOfHead()
    return output.text
  }

  /// A parsed head; traps when it is not complete, so that a test sees its own mistake.
  static func parsed(_ text: String) -> RequestHead {
    let head = RequestHead()
    let outcome = head.parse(text)
    guard case .complete(text.utf8.count) = outcome else { fatalError("\(outcome): \(text)") }
    return head
  }
}

extension ResponseHead {
  func text(_ range: ByteRange) -> String {
    withBytes { String(decoding: [UInt8](copying: $0.bytes(at: range)), as: UTF8.self) }
  }

  func parse(_ text: String, answering method: RequestMethod = .get, limits: HeadLimits = HeadLimits()) -> HeadOutcome {
    parse(Array(text.utf8).span, answering: method, limits: limits)
  }

  static func parsed(_ text: String, answering method: RequestMethod = .get) -> ResponseHead {
    let head = ResponseHead()
    let outcome = head.parse(text, answering: method)
    guard case .complete(text.utf8.count) = outcome else { fatalError("\(outcome): \(text)") }
    return head
  }

  /// The head as it is written for a client, with the empty line.
  func written(
    version: HTTPVersion = .http11, closes: Bool = false, isPrivate: Bool = false, changes: FieldChanges = .none
  ) -> String {
    var output = ByteQueue()
    let form = AnswerForm(version: version, framing: framing(forClient: version), closes: closes, isPrivate: isPrivate)
    writeDownstream(to: &output, form: form, changes: changes, date: HTTPDate(unixSeconds: 784_111_777))
    output.appendEndOfHead()
    return output.text
  }
}

extension ByteQueue {
  var text: String { String(decoding: copied(), as: UTF8.self) }
}

/// A body as it came out of a decoder.
struct DecodedBody: Equatable {
  var content: [UInt8] = []
  var end: BodyEvent
  /// Bytes consumed in all.
  var consumed = 0
}

/// Feeds `pieces` to a decoder as a connection does: what is not consumed is offered again with the next piece.
func decode(_ framing: BodyFraming, pieces: [[UInt8]], limits: HeadLimits = HeadLimits()) -> DecodedBody {
  var decoder = BodyDecoder(framing, limits: limits)
  var body = DecodedBody(end: .needMore(consumed: 0))
  var waiting = [UInt8]()
  for piece in pieces {
    waiting += piece
    reading: while true {
      let event = decoder.next(in: waiting.span)
      switch event {
      case .data(let range, let consumed):
        body.content += waiting[range.start..<range.end]
        body.consumed += consumed
        waiting.removeFirst(consumed)
      case .needMore(let consumed):
        body.consumed += consumed
        waiting.removeFirst(consumed)
        break reading
      case .end(let consumed):
        body.consumed += consumed
        body.end = .end(consumed: 0)
        return body
      case .malformed:
        body.end = event
        return body
      }
    }
  }
  return body
}
