public import Bytes

/// A field of an answer that the gate makes itself.
public struct AnswerField: Sendable {
  /// As written.
  public let name: StaticString
  /// As written; controls become spaces.
  public let value: [UInt8]

  /// A field.
  public init(_ name: StaticString, _ value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// `WWW-Authenticate` with a fresh challenge, so that the client can sign again without another round trip.
  public static func authenticate(challenge: [UInt8]) -> AnswerField {
    AnswerField("WWW-Authenticate", Array("AppAttest challenge=\"".utf8) + challenge + [UInt8(ascii: "\"")])
  }

  /// `Allow` with method names.
  public static func allow(_ methods: [String]) -> AnswerField {
    AnswerField("Allow", Array(methods.joined(separator: ", ").utf8))
  }

  /// `Retry-After`.
  public static func retryAfter(seconds: Int) -> AnswerField {
    AnswerField("Retry-After", Array(String(seconds).utf8))
  }
}

/// An answer that the gate makes itself. Nobody may store it.
public struct LocalAnswer: Sendable {
  /// The status.
  public var status: Int
  /// The media type; not written when there is no body.
  public var contentType: StaticString
  /// Fields besides `Date`, `Content-Type`, `Content-Length`, `Cache-Control` and `Connection`.
  public var fields: [AnswerField]
  /// The body.
  public var body: [UInt8]

  /// An answer.
  public init(status: Int, contentType: StaticString = "text/plain; charset=utf-8", fields: [AnswerField] = [], body: [UInt8] = []) {
    self.status = status
    self.contentType = contentType
    self.fields = fields
    self.body = body
  }

  /// Appends the whole answer to a request of `method` and `version`; to `HEAD` without the body (RFC 9110 section 9.3.2).
  public func write(
    to output: inout ByteQueue, answering method: RequestMethod, version: HTTPVersion, closes: Bool, date: HTTPDate
  ) {
    output.append("HTTP/1.1 ")
    output.append(decimal: status)
    output.append(UInt8(ascii: " "))
    output.append(ReasonPhrase.of(status))
    output.append("\r\n")
    output.appendField("Date", date.text)
    if status != 204 {
      if !body.isEmpty {
        output.append("Content-Type: ")
        output.append(contentType)
        output.append("\r\n")
      }
      output.appendField("Content-Length", decimal: body.count)
    }
    output.append("Cache-Control: no-store\r\n")
    for field in fields { output.appendField(field.name, field.value) }
    output.appendConnection(closes: closes, version: version)
    output.appendEndOfHead()
    if method != .head && status != 204 { output.append(body) }
  }
}
