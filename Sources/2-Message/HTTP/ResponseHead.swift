import Bytes

/// The head of one answer of an upstream; the counterpart of ``RequestHead``, as strict: a refused one is `upstream_invalid`.
public final class ResponseHead {
  private let guardedParser = Guarded(ResponseParser())
  var parser: ResponseParser {
    _read { yield guardedParser.value }
    _modify { yield &guardedParser.value }
  }

  /// An empty head without storage.
  public init() {}

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// `method` is the request's, on which it depends whether a body follows. Only what `asksForWebSocket` may be answered 101, by a head
  /// that says so too. Once complete, the next call begins a new head.
  public func parse(
    _ bytes: Span<UInt8>, answering method: RequestMethod, asksForWebSocket: Bool = false, limits: HeadLimits
  ) -> HeadOutcome {
    parser.parse(bytes, answering: method, asksForWebSocket: asksForWebSocket, limits: limits)
  }

  /// Forgets the head, or the part of one; the storage stays.
  public func reset() { parser.reset() }

  /// Forgets the head and gives its storage back, for an idle connection.
  public func releaseStorage() { parser.releaseStorage() }
}

// MARK: - What a complete head says

extension ResponseHead {
  /// The status, 100 to 599; 101 only where it was asked for.
  public var status: Int { parser.line.status }

  /// The version that the upstream speaks.
  public var version: HTTPVersion { parser.line.version }

  /// Whether another head follows: an interim answer (RFC 9110 section 15.2).
  public var isInterim: Bool { parser.line.status < 200 && !switchesProtocols }

  /// Whether no HTTP follows any more.
  public var switchesProtocols: Bool { parser.line.status == 101 }

  /// Where the body ends (RFC 9112 section 6.3).
  public var framing: BodyFraming {
    if parser.method == .head || hasNoBodyByStatus { return .none }
    if parser.framingFields.isChunked { return .chunked }
    return parser.framingFields.contentLength.map { .length($0) } ?? .untilClose
  }

  /// Whether the status alone says that there is no body.
  private var hasNoBodyByStatus: Bool { parser.line.status < 200 || parser.line.status == 204 || parser.line.status == 304 }

  /// Whether the upstream lets the connection be used again.
  ///
  /// Not after a 204 that announces a body, which it must not (RFC 9110 section 8.6): an upstream that errs there may go on to send it,
  /// and what comes late would be taken for the next request's answer.
  public var keepsAlive: Bool {
    if parser.line.status == 204 && announcesAbsentBody { return false }
    return ConnectionReuse.persists(parser.line.version, parser.connection)
  }

  /// Whether a body is announced where none comes, as it rightly is in answers to `HEAD` and in a 304 (RFC 9110 sections 9.3.2 and
  /// 15.4.5). A server that errs sends it all the same.
  public var announcesAbsentBody: Bool {
    guard parser.method == .head || hasNoBodyByStatus else { return false }
    return parser.framingFields.isChunked || parser.framingFields.contentLength ?? 0 > 0
  }

  /// How the body is framed for a client of `version`: one that does not know chunks learns the end from the connection's.
  public func framing(forClient version: HTTPVersion) -> BodyFraming {
    switch framing {
    case .chunked, .untilClose: version == .http11 ? .chunked : .untilClose
    case .none, .length: framing
    }
  }

  /// Lends the copy of the head into which the ranges point.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try parser.table.bytes.withReadable(body)
  }

  /// Looks up the field whose name is `lowerCase` when its letters are lowered.
  public func field(named lowerCase: Span<UInt8>) -> FieldLookup {
    parser.table.lookUp { field, bytes in
      Int(field.nameCount) == lowerCase.count && bytes.bytes(at: field.nameRange).equalsIgnoringCase(lowerCase)
    }
  }
}
