import Bytes

/// The state of ``RequestHead``: a struct, so that a whole pass over a head is one access to the class's storage.
struct RequestParser: ~Copyable {
  private enum Phase { case startLine, fields, complete, refused }

  private var phase = Phase.startLine
  private var scanner = LineScanner()
  private var hasEmptyLine = false
  var line = RequestLine()
  var table = FieldTable()
  var framingFields = FramingFields()
  var connection = ConnectionOptions()
  private(set) var hostField: ByteRange?
  private var hasHost = false
  private(set) var hasExpectation = false
  private(set) var upgrade = UpgradeField()
  private(set) var hostByteCount = 0
  /// Where ``target`` is in the head's copy.
  private(set) var originTarget = ByteRange.empty
  /// Whether ``prepareFields(_:believesForwarding:)`` has decided about every field.
  var isPrepared = false

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// Once complete, the next call begins a new head.
  mutating func parse(_ bytes: Span<UInt8>, limits: HeadLimits) -> HeadOutcome {
    if phase == .complete || phase == .refused { reset() }
    while true {
      switch scanner.next(in: bytes, before: lineEndMax(limits)) {
      case .incomplete: return .incomplete
      case .refused(let refusal): return refuse(refusal, bytes)
      case .tooLong: return refuse(isStartLineOver(limits) ? .startLineTooLong : .headTooLarge, bytes)
      case .line(let range):
        if phase == .fields, range.isEmpty { return complete(bytes) }
        if let refusal = take(range, of: bytes, limits: limits) { return refuse(refusal, bytes) }
      }
    }
  }

  /// Forgets the head, or the part of one; the storage stays.
  mutating func reset() {
    phase = .startLine
    scanner = LineScanner()
    hasEmptyLine = false
    line = RequestLine()
    originTarget = .empty
    table.reset()
    framingFields = FramingFields()
    connection = ConnectionOptions()
    hostField = nil
    hasHost = false
    hasExpectation = false
    upgrade = UpgradeField()
    isPrepared = false
  }

  /// Forgets the head and gives its storage back, for an idle connection.
  mutating func releaseStorage() {
    reset()
    table.releaseStorage()
  }

  /// Whether a part of a head has been seen, and not its end; an empty line before it is none.
  var hasBegun: Bool { phase == .fields || phase == .startLine && scanner.isInsideLine }

  /// Whether the head is there to be asked.
  var isComplete: Bool { phase == .complete }

  /// Whether the head's bytes have been copied, so that ranges mean something.
  var isReadable: Bool { phase == .complete || phase == .refused }

  private func lineEndMax(_ limits: HeadLimits) -> Int {
    guard phase == .startLine else { return limits.headBytesMax }
    return min(scanner.lineStart + limits.startLineBytesMax + 2, limits.headBytesMax)
  }

  private func isStartLineOver(_ limits: HeadLimits) -> Bool {
    phase == .startLine && scanner.lineStart + limits.startLineBytesMax + 2 <= limits.headBytesMax
  }

  /// The lines so far are kept, for the log.
  private mutating func refuse(_ refusal: HeadRefusal, _ bytes: Span<UInt8>) -> HeadOutcome {
    phase = .refused
    table.bytes.append(bytes.extracting(first: scanner.lineStart))
    return .refused(refusal)
  }

  private mutating func take(_ range: ByteRange, of bytes: Span<UInt8>, limits: HeadLimits) -> HeadRefusal? {
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
  private mutating func note(_ field: Field, _ bytes: Span<UInt8>) -> HeadRefusal? {
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
    case .upgrade:
      upgrade.take(bytes.bytes(at: field.valueRange))
      return nil
    default: return nil
    }
  }

  private mutating func complete(_ bytes: Span<UInt8>) -> HeadOutcome {
    if let refusal = framingFields.conflict(isHTTP10: line.version == .http10) { return refuse(refusal, bytes) }
    guard hasHost || line.version == .http10 else { return refuse(.hostMissing, bytes) }
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

  /// An absolute-form target without a path means `/`, or `*` with OPTIONS (RFC 9112 sections 3.2.1 and 3.2.4); that is written behind
  /// the head's copy.
  private mutating func setOriginTarget(_ bytes: Span<UInt8>, end: Int) {
    originTarget = line.pathAndQuery
    guard line.authority != nil, line.pathAndQuery.isEmpty || bytes[line.pathAndQuery.start] != UInt8(ascii: "/") else { return }
    originTarget = ByteRange(start: end, count: line.pathAndQuery.count + 1)
    table.bytes.append(line.form == .asterisk ? UInt8(ascii: "*") : UInt8(ascii: "/"))
    table.bytes.append(bytes.bytes(at: line.pathAndQuery))
  }
}
