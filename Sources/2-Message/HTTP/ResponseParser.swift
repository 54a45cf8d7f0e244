import Bytes

/// The state of ``ResponseHead``: a struct, so that a whole pass over a head is one access to the class's storage.
struct ResponseParser: ~Copyable {
  private enum Phase { case startLine, fields, complete, refused }

  private var phase = Phase.startLine
  private var scanner = LineScanner()
  private(set) var method = RequestMethod.get
  var line = StatusLine()
  var table = FieldTable()
  var framingFields = FramingFields()
  var connection = ConnectionOptions()
  var cacheDirectives = CacheDirectives()
  var hasDate = false
  private var upgrade = UpgradeField()

  /// Parses on from where the last call stopped. `bytes` begins with the same byte each time until the head is complete.
  ///
  /// `method` is the request's, on which it depends whether a body follows; `asksForWebSocket` says what it asked for besides. Once
  /// complete, the next call begins a new head.
  mutating func parse(
    _ bytes: Span<UInt8>, answering method: RequestMethod, asksForWebSocket: Bool = false, limits: HeadLimits
  ) -> HeadOutcome {
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
        if phase == .fields, range.isEmpty { return complete(bytes, asksForWebSocket) }
        if let refusal = take(range, of: bytes, limits: limits) { return refuse(refusal) }
      }
    }
  }

  /// Forgets the head, or the part of one; the storage stays.
  mutating func reset() {
    phase = .startLine
    scanner = LineScanner()
    table.reset()
    framingFields = FramingFields()
    connection = ConnectionOptions()
    cacheDirectives = CacheDirectives()
    hasDate = false
    upgrade = UpgradeField()
  }

  /// Forgets the head and gives its storage back, for an idle connection.
  mutating func releaseStorage() {
    reset()
    table.releaseStorage()
  }

  /// Whether the head is there to be written.
  var isComplete: Bool { phase == .complete }

  private mutating func refuse(_ refusal: HeadRefusal) -> HeadOutcome {
    phase = .refused
    return .refused(refusal)
  }

  private mutating func take(_ range: ByteRange, of bytes: Span<UInt8>, limits: HeadLimits) -> HeadRefusal? {
    if phase == .startLine {
      phase = .fields
      return line.parse(range, in: bytes)
    }
    guard table.fields.count < limits.fieldCountMax else { return .tooManyFields }
    return table.append(line: range, of: bytes) ?? note(table.fields[table.fields.count - 1], bytes)
  }

  private mutating func note(_ field: Field, _ bytes: Span<UInt8>) -> HeadRefusal? {
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
    case .upgrade:
      upgrade.take(bytes.bytes(at: field.valueRange))
      return nil
    default: return nil
    }
  }

  private mutating func complete(_ bytes: Span<UInt8>, _ asksForWebSocket: Bool) -> HeadOutcome {
    if let refusal = framingFields.conflict(isHTTP10: line.version == .http10) { return refuse(refusal) }
    if line.status == 101, let refusal = faultOfSwitching(asksForWebSocket) { return refuse(refusal) }
    // An upstream that announces a body there may send one, and what it holds would be taken for the final answer.
    let announcesBody = framingFields.isChunked || framingFields.contentLength ?? 0 > 0
    if line.status < 200, announcesBody { return refuse(.interimAnswerWithBody) }
    let byteCount = scanner.lineStart
    table.bytes.append(bytes.extracting(first: byteCount))
    if connection.otherCount > 0, let refusal = table.dropFieldsNamedByConnection(isGateField: { _ in false }) {
      return refuse(refusal)
    }
    phase = .complete
    return .complete(byteCount: byteCount)
  }

  /// A 101 is an answer to nothing but an `Upgrade` that was passed on, names the same protocol, and has no content (RFC 9110 sections
  /// 7.8, 8.6 and 15.2.2).
  private func faultOfSwitching(_ asksForWebSocket: Bool) -> HeadRefusal? {
    guard asksForWebSocket else { return .upgradeNotRequested }
    guard upgrade.isWebSocket, connection.hasUpgrade, line.version == .http11 else { return .upgradeMalformed }
    return framingFields.isChunked || framingFields.contentLength != nil ? .upgradeMalformed : nil
  }
}
