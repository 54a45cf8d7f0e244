public import Bytes

/// How an answer goes to the client.
public struct AnswerForm: Sendable {
  /// The client's version.
  public var version: HTTPVersion
  /// ``ResponseHead/framing(forClient:)``.
  public var framing: BodyFraming
  /// Whether the connection is closed behind the answer; it is always when the framing needs it.
  public var closes: Bool
  /// Whether shared caches must not keep the answer (`cache: private` on an enforced route).
  public var isPrivate: Bool

  /// A form.
  public init(version: HTTPVersion, framing: BodyFraming, closes: Bool, isPrivate: Bool = false) {
    self.version = version
    self.framing = framing
    self.closes = closes
    self.isPrivate = isPrivate
  }
}

extension ResponseHead {
  /// Writes the answer anew for the client. The head is not ended: the caller may add fields and ends it by
  /// ``Bytes/ByteQueue/appendEndOfHead()``.
  ///
  /// The status line's version is ours; fields are passed on but for hop-by-hop ones and what `changes` replaces or removes
  /// (an upstream's own `X-App-Attest-…` too: it tells the client nothing that the gate vouches for, and harms nobody).
  /// `date` is added when the upstream sent none (RFC 9110 section 6.6.1).
  public func writeDownstream(to output: inout ByteQueue, form: AnswerForm, changes: FieldChanges, date: HTTPDate) {
    parser.write(to: &output, form: form, changes: changes, date: date)
  }

  /// Writes the answer that ends HTTP on this connection, whole: its fields as they are passed on otherwise, and the two that switch.
  public func writeSwitchToWebSocket(to output: inout ByteQueue, changes: FieldChanges) {
    parser.writeSwitchToWebSocket(to: &output, changes: changes)
  }

  /// Writes an interim answer, whole (RFC 9110 section 15.2); to HTTP/1.0 clients the caller sends none.
  public func writeInterim(to output: inout ByteQueue) {
    parser.writeInterim(to: &output)
  }
}

extension ResponseParser {
  fileprivate func write(to output: inout ByteQueue, form: AnswerForm, changes: FieldChanges, date: HTTPDate) {
    precondition(isComplete && line.status >= 200, "a final head is written when it is complete")
    let setsPrivate = form.isPrivate && !cacheDirectives.keepsFromSharedCaches
    writeStatusLine(to: &output)
    table.write(to: &output) { field, bytes in
      if field.name.isHopByHop || field.name == .contentLength { return false }
      if setsPrivate && field.name == .cacheControl || form.isPrivate && field.name == .targetedCacheControl { return false }
      return changes.names.isEmpty || !changes.names.contains(bytes.bytes(at: field.nameRange))
    }
    output.append(changes.block)
    if setsPrivate {
      table.bytes.withReadable { cacheDirectives.appendPrivate(fields: table.fields, of: $0, to: &output) }
    }
    if !hasDate { output.appendField("Date", date.text) }
    writeFraming(to: &output, form: form)
  }

  fileprivate func writeInterim(to output: inout ByteQueue) {
    precondition(isComplete && line.status < 200, "an interim head is written when it is complete")
    writeStatusLine(to: &output)
    table.write(to: &output) { field, _ in !field.name.isHopByHop && field.name != .contentLength }
    output.appendEndOfHead()
  }

  fileprivate func writeSwitchToWebSocket(to output: inout ByteQueue, changes: FieldChanges) {
    precondition(isComplete && line.status == 101, "only a 101 switches protocols")
    writeStatusLine(to: &output)
    table.write(to: &output) { field, bytes in
      !field.name.isHopByHop && (changes.names.isEmpty || !changes.names.contains(bytes.bytes(at: field.nameRange)))
    }
    output.append(changes.block)
    output.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
    output.appendEndOfHead()
  }

  private func writeStatusLine(to output: inout ByteQueue) {
    output.append("HTTP/1.1 ")
    output.append(decimal: line.status)
    output.append(UInt8(ascii: " "))
    table.bytes.withReadable { output.append($0.bytes(at: line.reason)) }
    output.append("\r\n")
  }

  private func writeFraming(to output: inout ByteQueue, form: AnswerForm) {
    if form.framing == .none, let length = framingFields.contentLength, line.status != 204 {
      // To HEAD and with 304 it tells how long the body would be (RFC 9110 section 8.6).
      output.appendField("Content-Length", decimal: length)
    } else {
      output.appendFraming(form.framing)
    }
    output.appendConnection(closes: form.closes || form.framing == .untilClose, version: form.version)
  }
}

extension ByteQueue {
  /// Appends the `Connection` field that the client's version needs to know what follows (RFC 9112 section 9.3).
  mutating func appendConnection(closes: Bool, version: HTTPVersion) {
    if closes {
      append("Connection: close\r\n")
    } else if version == .http10 {
      append("Connection: keep-alive\r\n")
    }
  }
}
