public import Bytes

/// The head of one request: parsed in place as its bytes come, kept in storage that the next request of the connection reuses.
///
/// Ranges that it answers with are offsets into its own copy of the head; `withBytes` lends that copy.
public final class RequestHead {
  private enum Phase { case startLine, fields, complete, refused }

  private var phase = Phase.startLine
  private var scanner = LineScanner()
  private var hasEmptyLine = false
  var line = RequestLine()
  var table = FieldTable()
  var framingFields = FramingFields()
  var connection = ConnectionOptions()
  private var hostField: ByteRange?
  private var hasHost = false
  private var hasExpectation = false
  private var hostByteCount = 0
  /// Where ``target`` is in the head's copy.
  private var originTarget = ByteRange.empty
  /// Whether ``prepareFields(_:)`` has decided about every field.
  var isPrepared = false

  /// An empty head without storage.
  public init() {}

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// Once complete, the next call begins a new head.
  public func parse(_ bytes: Span<UInt8>, limits: HeadLimits) -> HeadOutcome {
    if phase == .complete || phase == .refused { reset() }
    while true {
      switch scanner.next(in: bytes, before: lineEndMax(limits)) {
      case .incomplete: return .incomplete
      case .refused(let refusal): return refuse(refusal)
      case .tooLong: return refuse(isStartLineOver(bytes.count, limits) ? .startLineTooLong : .headTooLarge)
      case .line(let range):
        if phase == .fields, range.isEmpty { return complete(bytes) }
        if let refusal = take(range, of: bytes, limits: limits) { return refuse(refusal) }
      }
    }
  }

  /// Forgets the head, or the part of one; the storage stays.
  public func reset() {
    phase = .startLine
    scanner = LineScanner()
    hasEmptyLine = false
    table.reset()
    framingFields = FramingFields()
    connection = ConnectionOptions()
    hostField = nil
    hasHost = false
    hasExpectation = false
    isPrepared = false
  }

  /// Forgets the head and gives its storage back, for an idle connection.
  public func releaseStorage() {
    reset()
    table.releaseStorage()
  }

  /// Whether the head is there to be asked.
  public var isComplete: Bool { phase == .complete }

  /// Whether some bytes of a head have been seen.
  public var hasBegun: Bool { phase == .fields || scanner.lineStart > 0 }

  private func lineEndMax(_ limits: HeadLimits) -> Int {
    guard phase == .startLine else { return limits.headBytesMax }
    return min(scanner.lineStart + limits.startLineBytesMax + 2, limits.headBytesMax)
  }

  private func isStartLineOver(_ count: Int, _ limits: HeadLimits) -> Bool {
    phase == .startLine && scanner.lineStart + limits.startLineBytesMax + 2 <= limits.headBytesMax
  }

  private func refuse(_ refusal: HeadRefusal) -> HeadOutcome {
    phase = .refused
    return .refused(refusal)
  }

  private func take(_ range: ByteRange, of bytes: Span<UInt8>, limits: HeadLimits) -> HeadRefusal? {
    if phase == .startLine {
      guard !range.isEmpty else {
        // RFC 9112 section 2.2: one empty line is forgiven to clients that end a body with a CRLF too many.
        defer { hasEmptyLine = true }
        return hasEmptyLine ? .emptyLines : nil
      }
      phase = .fields
      return line.parse(range, in: bytes)
    }
    guard table.fields.count < limits.fieldCountMax else { return .tooManyFields }
    return table.append(line: range, of: bytes) ?? note(table.fields[table.fields.count - 1], bytes)
  }

  /// Takes what the last field says about framing, routing and the connection.
  private func note(_ field: Field, _ bytes: Span<UInt8>) -> HeadRefusal? {
    switch field.name {
    case .host:
      guard !hasHost else { return .hostRepeated }
      guard let authority = Authority(bytes.bytes(at: field.valueRange)) else { return .hostMalformed }
      hasHost = true
      hostField = field.valueRange
      hostByteCount = authority.hostByteCount
      return nil
    case .contentLength: return framingFields.takeContentLength(bytes.bytes(at: field.valueRange))
    case .transferEncoding: return framingFields.takeTransferEncoding(field.valueRange, in: bytes)
    case .connection: return connection.take(field.valueRange, in: bytes)
    case .expect:
      guard !hasExpectation, bytes.bytes(at: field.valueRange).equalsIgnoringCase("100-continue") else {
        return .expectationNotSupported
      }
      hasExpectation = true
      return nil
    default: return nil
    }
  }

  private func complete(_ bytes: Span<UInt8>) -> HeadOutcome {
    if let refusal = framingFields.conflict(isHTTP10: line.version == .http10) { return refuse(refusal) }
    guard hasHost || line.version == .http10 else { return refuse(.hostMissing) }
    if let authority = line.authority {
      hostField = authority
      hostByteCount = Authority(bytes.bytes(at: authority))?.hostByteCount ?? 0
    }
    phase = .complete
    let byteCount = scanner.lineStart
    table.bytes.append(bytes.extracting(first: byteCount))
    setOriginTarget(bytes, end: byteCount)
    return .complete(byteCount: byteCount)
  }

  /// An absolute-form target without a path means `/` (RFC 9112 section 3.2.1), which is written behind the head's copy.
  private func setOriginTarget(_ bytes: Span<UInt8>, end: Int) {
    originTarget = line.pathAndQuery
    guard line.form == .absolute, line.pathAndQuery.isEmpty || bytes[line.pathAndQuery.start] != UInt8(ascii: "/") else { return }
    originTarget = ByteRange(start: end, count: line.pathAndQuery.count + 1)
    table.bytes.append(UInt8(ascii: "/"))
    table.bytes.append(bytes.bytes(at: line.pathAndQuery))
  }
}

// MARK: - What a complete head says

extension RequestHead {
  /// The method, as far as the gate treats methods differently.
  public var method: RequestMethod { line.method }

  /// Where the method's name is.
  public var methodRange: ByteRange { line.methodRange }

  /// The version of the request.
  public var version: HTTPVersion { line.version }

  /// The form of the target as it was sent.
  public var targetForm: TargetForm { line.form }

  /// Where the target is as it was sent, for logs.
  public var targetAsSent: ByteRange { line.targetRange }

  /// Where path and query are; always begins with `/`, but for ``TargetForm/asterisk``.
  public var target: ByteRange { originTarget }

  /// Where the request's `host[:port]` is: that of an absolute-form target, else of `Host`; nil only in HTTP/1.0.
  public var authority: ByteRange? { hostField }

  /// Where the host is without the port, brackets of an IPv6 address included.
  public var host: ByteRange? { hostField.map { ByteRange(start: $0.start, count: hostByteCount) } }

  /// Where the body ends; ``BodyFraming/untilClose`` is no request's.
  public var framing: BodyFraming {
    framingFields.isChunked ? .chunked : framingFields.contentLength.map { .length($0) } ?? .none
  }

  /// Whether the client waits for a 100 before it sends its body; HTTP/1.0 clients do not (RFC 9110 section 10.1.1).
  public var expectsContinue: Bool { hasExpectation && line.version == .http11 && !framing.isEmpty }

  /// Whether the client wants to use the connection again.
  public var keepsAlive: Bool { ConnectionReuse.persists(line.version, connection) }

  /// Number of field lines.
  public var fieldCount: Int { table.fields.count }

  /// Lends the copy of the head into which the ranges point.
  public func withBytes<Result: ~Copyable, Failure: Error>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try table.bytes.withReadable(body)
  }

  /// Looks up the field whose name is `lowerCase` when its letters are lowered.
  ///
  /// Fields that ``prepareFields(_:)`` dropped are not there; the gate's inputs are, though they are not passed on.
  public func field(named lowerCase: Span<UInt8>) -> FieldLookup {
    table.lookUp { field, bytes in
      Int(field.nameCount) == lowerCase.count && bytes.bytes(at: field.nameRange).equalsIgnoringCase(lowerCase)
    }
  }

  /// Looks up a field that is recognised while parsing.
  public func field(_ name: FieldName) -> FieldLookup {
    table.lookUp { field, _ in field.name == name }
  }
}
