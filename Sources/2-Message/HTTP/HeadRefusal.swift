/// Why a head is refused. Nothing of it is ever repaired: a repaired head may mean something else to the next server.
///
/// ``code``, ``status`` and ``detail`` are for requests; an upstream's head that is refused is `upstream_invalid`.
public enum HeadRefusal: Sendable, Equatable, CaseIterable {
  /// LF without CR (RFC 9112 section 2.2).
  case bareLineFeed
  /// CR without LF (RFC 9112 section 2.2).
  case bareCarriageReturn
  /// NUL or another control (RFC 9110 section 5.5).
  case controlCharacter
  /// More than one empty line before the request line (RFC 9112 section 2.2).
  case emptyLines
  /// The start line is over its limit.
  case startLineTooLong
  /// The head is over its limit.
  case headTooLarge
  /// More fields than the limit.
  case tooManyFields
  /// A field name of more than 256 bytes.
  case fieldNameTooLong
  /// Not `method SP target SP version` (RFC 9112 section 3).
  case requestLineMalformed
  /// The method is no token, or one of more than 32 bytes.
  case methodMalformed
  /// `CONNECT` and `TRACE`.
  case methodNotAllowed
  /// Bytes that no target may hold, or no form that fits the method (RFC 9112 section 3.2).
  case targetMalformed
  /// `#` is in no target form.
  case fragment
  /// Not `HTTP/` digit `.` digit (RFC 9112 section 2.3).
  case versionMalformed
  /// Neither HTTP/1.0 nor HTTP/1.1.
  case versionNotSupported
  /// A field line without a colon, or a name that is no token (RFC 9112 section 5).
  case fieldNameMalformed
  /// White space between name and colon (RFC 9112 section 5.1).
  case spaceBeforeColon
  /// A line that begins with white space: obs-fold (RFC 9112 section 5.2).
  case foldedLine
  /// HTTP/1.1 without `Host` (RFC 9112 section 3.2).
  case hostMissing
  /// More than one `Host` (RFC 9112 section 3.2).
  case hostRepeated
  /// Not `host [":" port]`, or with user information (RFC 9110 section 7.2).
  case hostMalformed
  /// Not digits, or a number beyond 2^63 - 1 (RFC 9112 section 6.3).
  case contentLengthMalformed
  /// More than one `Content-Length`, equal or not (RFC 9112 section 6.3).
  case contentLengthRepeated
  /// `Transfer-Encoding` and `Content-Length` (RFC 9112 section 6.3).
  case lengthAndTransferEncoding
  /// No list of codings, `chunked` twice or not last, or the field twice (RFC 9112 section 6.1).
  case transferEncodingMalformed
  /// A coding other than `chunked` (RFC 9112 section 6.1).
  case transferEncodingNotSupported
  /// `Transfer-Encoding` in HTTP/1.0 (RFC 9112 section 6.1).
  case transferEncodingInHTTP10
  /// `Expect` other than `100-continue` (RFC 9110 section 10.1.1).
  case expectationNotSupported
  /// `Connection` is no list of tokens, or one of more than 32 (RFC 9110 section 7.6.1).
  case connectionMalformed
  /// `Connection` names a field on which framing, routing or credentials rest.
  case connectionNamesEndToEndField
  /// `Connection` names one of the gate's own fields or inputs.
  case connectionNamesGateField
  /// A name with an underscore, where the listener rejects those.
  case underscoreInFieldName
  /// More than 32 entries in `X-Forwarded-For`.
  case forwardingLoop
  /// A trusted peer's `X-Forwarded-For` is no list of addresses, so that the client's cannot be told.
  case forwardedForMalformed
  /// A trusted peer's `X-Forwarded-Proto` is repeated, or no scheme of HTTP or WebSocket.
  case forwardedProtoMalformed
  /// Not `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 section 4).
  case statusLineMalformed
  /// A status outside 100 to 599 (RFC 9110 section 15).
  case statusOutOfRange
  /// A 101 that nobody asked for (RFC 9110 section 15.2.2).
  case upgradeNotRequested
  /// An interim answer that announces a body (RFC 9110 section 8.6; RFC 9112 section 6.1).
  case interimAnswerWithBody
  /// A 101 that does not switch to what was asked for, or announces content (RFC 9110 section 7.8).
  case upgradeMalformed

  /// The code of the answer to the client.
  public var code: ProblemCode {
    switch self {
    case .startLineTooLong, .headTooLarge, .tooManyFields, .fieldNameTooLong: .headersTooLarge
    case .methodNotAllowed: .methodNotAllowed
    case .fragment: .pathAmbiguous
    case .versionNotSupported: .versionNotSupported
    case .transferEncodingNotSupported: .notImplemented
    case .expectationNotSupported: .expectationFailed
    case .statusLineMalformed, .statusOutOfRange, .upgradeNotRequested, .upgradeMalformed, .interimAnswerWithBody: .upstreamInvalid
    default: .httpMalformed
    }
  }

  /// The status of the answer to the client: that of the code, but 414 for a request line that is too long.
  public var status: Int { self == .startLineTooLong ? 414 : code.status }

  /// What is wrong, for the client's developer.
  public var detail: String {
    switch self {
    case .bareLineFeed: "a line ends with LF alone"
    case .bareCarriageReturn: "a CR is not followed by LF"
    case .controlCharacter: "the head contains a control character"
    case .emptyLines: "more than one empty line before the request line"
    case .startLineTooLong: "the request line is too long"
    case .headTooLarge: "the head is too large"
    case .tooManyFields: "the head has too many fields"
    case .fieldNameTooLong: "a field name is too long"
    case .requestLineMalformed: "the request line is not: method, space, target, space, version"
    case .methodMalformed: "the method is not a token"
    case .methodNotAllowed: "this method is not served here"
    case .targetMalformed: "the request target is malformed"
    case .fragment: "the request target has a fragment"
    case .versionMalformed: "the HTTP version is malformed"
    case .versionNotSupported: "only HTTP/1.1 and HTTP/1.0 are served"
    case .fieldNameMalformed: "a field name is malformed"
    case .spaceBeforeColon: "white space between a field name and its colon"
    case .foldedLine: "a field line begins with white space"
    case .hostMissing: "the Host field is missing"
    case .hostRepeated: "the Host field is repeated"
    case .hostMalformed: "the host is malformed"
    case .contentLengthMalformed: "Content-Length is not a number"
    case .contentLengthRepeated: "Content-Length is repeated"
    case .lengthAndTransferEncoding: "Content-Length beside Transfer-Encoding"
    case .transferEncodingMalformed: "Transfer-Encoding is malformed"
    case .transferEncodingNotSupported: "no transfer coding but chunked is supported"
    case .transferEncodingInHTTP10: "Transfer-Encoding in an HTTP/1.0 message"
    case .expectationNotSupported: "no expectation but 100-continue is supported"
    case .connectionMalformed: "the Connection field is malformed"
    case .connectionNamesEndToEndField: "the Connection field names an end-to-end field"
    case .connectionNamesGateField: "the Connection field names a field of the gate"
    case .underscoreInFieldName: "a field name contains an underscore"
    case .forwardingLoop: "the request was forwarded too often"
    case .forwardedForMalformed: "the X-Forwarded-For field is malformed"
    case .forwardedProtoMalformed: "the X-Forwarded-Proto field is malformed"
    case .statusLineMalformed: "the status line is malformed"
    case .statusOutOfRange: "the status is out of range"
    case .upgradeNotRequested: "the protocol was switched unasked"
    case .interimAnswerWithBody: "an interim answer announces a body"
    case .upgradeMalformed: "the protocol was not switched to the one asked for"
    }
  }
}

/// What became of the bytes of a head so far.
public enum HeadOutcome: Sendable, Equatable {
  /// The head has not ended yet; parse again from the same first byte when there are more.
  case incomplete
  /// The head is complete and took this many bytes, which may be consumed now.
  case complete(byteCount: Int)
  /// The head is refused; the connection cannot be used further.
  case refused(HeadRefusal)
}
