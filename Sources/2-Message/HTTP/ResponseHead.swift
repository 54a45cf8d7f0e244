import Bytes

/// The head of one answer of an upstream; the counterpart of ``RequestHead``, as strict: a refused one is `upstream_invalid`.
public final class ResponseHead {
  private enum Phase { case startLine, fields, complete, refused }

  private var phase = Phase.startLine
  private var scanner = LineScanner()
  private var method = RequestMethod.get
  var line = StatusLine()
  var table = FieldTable()
  var framingFields = FramingFields()
  var connection = ConnectionOptions()
  var cacheDirectives = CacheDirectives()
  var hasDate = false

  /// An empty head without storage.
  public init() {}

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// `method` is the request's, on which it depends whether a body follows. Once complete, the next call begins a new head.
  public func parse(_ bytes: Span<UInt8>, answering method: RequestMethod, limits: HeadLimits) -> HeadOutcome {
    if phase == .complete || phase == .refused { reset() }
    self.method = method
    while true {
      let isStartLine = phase == .startLine
      let end = isStartLine ? min(limits.startLineBytesMax + 2, limits.headBytesMax) : limits.headBytesMax
      switch scanner.next(in: bytes, before: end) {
      case .incomplete: return .incomplete
      case .refused(let refusal): return refuse(refusal)
      case .tooLong: return refuse(isStartLine && end < limits.headBytesMax ? .startLineTooLong : .headTooLarge)
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
    table.reset()
    framingFields = FramingFields()
    connection = ConnectionOptions()
    cacheDirectives = CacheDirectives()
    hasDate = false
  }

  /// Forgets the head and gives its storage back, for an idle connection.
  public func releaseStorage() {
    reset()
    table.releaseStorage()
  }

  /// Whether the head is there to be written.
  var phaseIsComplete: Bool { phase == .complete }

  private func refuse(_ refusal: HeadRefusal) -> HeadOutcome {
    phase = .refused
    return .refused(refusal)
  }

  private func take(_ range: ByteRange, of bytes: Span<UInt8>, limits: HeadLimits) -> HeadRefusal? {
    if phase == .startLine {
      phase = .fields
      return line.parse(range, in: bytes)
    }
    guard table.fields.count < limits.fieldCountMax else { return .tooManyFields }
    return table.append(line: range, of: bytes) ?? note(table.fields[table.fields.count - 1], bytes)
  }

  private func note(_ field: Field, _ bytes: Span<UInt8>) -> HeadRefusal? {
    switch field.name {
    case .contentLength: return framingFields.takeContentLength(bytes.bytes(at: field.valueRange))
    case .transferEncoding: return framingFields.takeTransferEncoding(field.valueRange, in: bytes)
    case .connection: return connection.take(field.valueRange, in: bytes)
    case .cacheControl:
      cacheDirectives.take(field.valueRange, in: bytes)
      return nil
    case .date:
      hasDate = true
      return nil
    default: return nil
    }
  }

  private func complete(_ bytes: Span<UInt8>) -> HeadOutcome {
    if let refusal = framingFields.conflict(isHTTP10: line.version == .http10) { return refuse(refusal) }
    // Upgrade is never passed on, so nothing was asked for.
    if line.status == 101 { return refuse(.upgradeNotRequested) }
    let byteCount = scanner.lineStart
    table.bytes.append(bytes.extracting(first: byteCount))
    if connection.otherCount > 0, let refusal = table.dropFieldsNamedByConnection(isGateField: { _ in false }) {
      return refuse(refusal)
    }
    phase = .complete
    return .complete(byteCount: byteCount)
  }
}

// MARK: - What a complete head says

extension ResponseHead {
  /// The status, 100 to 599 and not 101.
  public var status: Int { line.status }

  /// The version that the upstream speaks.
  public var version: HTTPVersion { line.version }

  /// Whether another head follows: an interim answer (RFC 9110 section 15.2).
  public var isInterim: Bool { line.status < 200 }

  /// Where the body ends (RFC 9112 section 6.3).
  public var framing: BodyFraming {
    if method == .head || hasNoBodyByStatus { return .none }
    if framingFields.isChunked { return .chunked }
    return framingFields.contentLength.map { .length($0) } ?? .untilClose
  }

  /// Whether the status alone says that there is no body.
  private var hasNoBodyByStatus: Bool { line.status < 200 || line.status == 204 || line.status == 304 }

  /// Whether the upstream lets the connection be used again.
  ///
  /// Not after a 204 or an interim answer that announces a body: an upstream that errs there may go on to send one.
  public var keepsAlive: Bool {
    let announcesBody = framingFields.isChunked || framingFields.contentLength ?? 0 > 0
    if announcesBody, line.status < 200 || line.status == 204 { return false }
    return ConnectionReuse.persists(line.version, connection)
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
    try table.bytes.withReadable(body)
  }

  /// Looks up the field whose name is `lowerCase` when its letters are lowered.
  public func field(named lowerCase: Span<UInt8>) -> FieldLookup {
    table.lookUp { field, bytes in
      Int(field.nameCount) == lowerCase.count && bytes.bytes(at: field.nameRange).equalsIgnoringCase(lowerCase)
    }
  }
}
