public import Bytes

/// The head of one request: parsed in place as its bytes come, kept in storage that the next request of the connection reuses.
///
/// Ranges that it answers with are offsets into its own copy of the head; ``withBytes(_:)`` lends that copy. Before the head is complete
/// or refused they are empty; of a refused head those of the request line are told as far as it was read, for the log.
public final class RequestHead {
  private let guardedParser = Guarded(RequestParser())
  var parser: RequestParser {
    _read { yield guardedParser.value }
    _modify { yield &guardedParser.value }
  }

  /// An empty head without storage.
  public init() {}

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// Once complete, the next call begins a new head.
  public func parse(_ bytes: Span<UInt8>, limits: HeadLimits) -> HeadOutcome { parser.parse(bytes, limits: limits) }

  /// Forgets the head, or the part of one; the storage stays.
  public func reset() { parser.reset() }

  /// Forgets the head and gives its storage back, for an idle connection.
  public func releaseStorage() { parser.releaseStorage() }

  /// Whether the head is there to be asked.
  public var isComplete: Bool { parser.isComplete }

  /// Whether some bytes of a head have been taken: what follows a time-out is then 408, not a silent close.
  public var hasBegun: Bool { parser.hasBegun }
}

// MARK: - What a complete head says

extension RequestHead {
  /// The method, as far as the gate treats methods differently.
  public var method: RequestMethod { parser.line.method }

  /// Where the method's name is.
  public var methodRange: ByteRange { parser.isReadable ? parser.line.methodRange : .empty }

  /// The version of the request.
  public var version: HTTPVersion { parser.line.version }

  /// The form of the target as it was sent.
  public var targetForm: TargetForm { parser.line.form }

  /// Where the target is as it was sent, for logs.
  public var targetAsSent: ByteRange { parser.isReadable ? parser.line.targetRange : .empty }

  /// Where path and query are, of a complete head; always begins with `/`, but for ``TargetForm/asterisk``.
  public var target: ByteRange { parser.originTarget }

  /// Where the request's `host[:port]` is: that of an absolute-form target, else of `Host`; nil only in HTTP/1.0.
  public var authority: ByteRange? { parser.isReadable ? parser.hostField : nil }

  /// Where the host is without the port, brackets of an IPv6 address included.
  public var host: ByteRange? { authority.map { ByteRange(start: $0.start, count: parser.hostByteCount) } }

  /// Where the body ends; ``BodyFraming/untilClose`` is no request's.
  public var framing: BodyFraming {
    parser.framingFields.isChunked ? .chunked : parser.framingFields.contentLength.map { .length($0) } ?? .none
  }

  /// Whether the client waits for a 100 before it sends its body; HTTP/1.0 clients do not (RFC 9110 section 10.1.1).
  public var expectsContinue: Bool { parser.hasExpectation && parser.line.version == .http11 && !framing.isEmpty }

  /// Whether the client wants to use the connection again.
  public var keepsAlive: Bool { ConnectionReuse.persists(parser.line.version, parser.connection) }

  /// Number of field lines.
  public var fieldCount: Int { parser.table.fields.count }

  /// Lends the copy of the head into which the ranges point: of a refused head the lines before the fault, of an incomplete one nothing.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try parser.table.bytes.withReadable(body)
  }

  /// Looks up the field whose name is `lowerCase` when its letters are lowered.
  ///
  /// Fields that ``prepareFields(_:believesForwarding:)`` dropped are not there; the gate's inputs are, though they are not passed on.
  public func field(named lowerCase: Span<UInt8>) -> FieldLookup {
    parser.table.lookUp { field, bytes in
      Int(field.nameCount) == lowerCase.count && bytes.bytes(at: field.nameRange).equalsIgnoringCase(lowerCase)
    }
  }

  /// Looks up a field that is recognised while parsing.
  public func field(_ name: FieldName) -> FieldLookup {
    parser.table.lookUp { field, _ in field.name == name }
  }
}
