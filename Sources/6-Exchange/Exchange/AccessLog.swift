import Bytes
import EventLoop
import Gate
import HTTP
import TLS
import Telemetry

/// One worker's access log: a JSON object a line, buffered, handed to the writer's thread.
final class AccessLog {
  /// Bytes that wait before they are handed over without waiting for the worker's tick.
  static let pendingBytesMax = 32 << 10

  private var writer: LogWriter
  private var pending = ByteQueue()

  init(_ writer: LogWriter) { self.writer = writer }

  /// Hands what is written from now on to this writer.
  func follow(_ writer: LogWriter) {
    flush()
    self.writer = writer
  }

  var isOn: Bool { writer.isOn }

  /// Hands what waits to the writer.
  func flush() {
    guard !pending.isEmpty else { return }
    writer.write(pending.copied())
    pending.removeAll()
  }

  /// Appends the line of one exchange. Times are in microseconds; the query, which may hold secrets, is left out.
  func write(_ record: ExchangeRecord, _ connection: DownstreamConnection, routes: [ServedRoute]) {
    pending.append("{\"time\":\"")
    pending.append(Timestamp.text(unixNanoseconds: WallClock.unixNanoseconds))
    pending.append("\",\"request_id\":\"")
    record.appendIdentifier(to: &pending)
    pending.append("\",\"client\":\"")
    pending.append(connection.client.text)
    appendRequest(connection.head)
    pending.append(",\"route\":")
    if let route = record.route { JSONText.append(routes[route].label, to: &pending) } else { pending.append("null") }
    pending.append(",\"status\":")
    pending.append(decimal: record.status)
    if let code = record.code { appendMember(",\"code\":\"", code.rawValue) }
    if let detail = record.detail {
      pending.append(",\"detail\":")
      JSONText.append(detail, to: &pending)
    }
    appendDecision(record)
    appendDurations(record, until: connection.loop.now)
    pending.append(",\"bytes\":")
    pending.append(decimal: connection.bytesWritten - record.bytesWrittenBefore)
    if let tunnel = record.tunnel {
      pending.append(",\"upgrade\":\"websocket\",\"bytes_received\":")
      pending.append(decimal: tunnel.bytesReceived)
      appendMember(",\"tunnel_end\":\"", tunnel.end.rawValue)
    }
    if let server = record.server { appendMember(",\"upstream\":\"", server) }
    if let failure = record.upstreamFailure {
      pending.append(",\"upstream_failure\":")
      JSONText.append(failure, to: &pending)
    }
    pending.append(",\"tls\":")
    if let version = connection.tls?.version { JSONText.append(version.rawValue, to: &pending) } else { pending.append("null") }
    pending.append("}\n")
    if pending.count > Self.pendingBytesMax { flush() }
  }

  /// Of a refused head what was read of it, null for the rest.
  private func appendRequest(_ head: RequestHead) {
    guard !head.methodRange.isEmpty else { return pending.append("\",\"method\":null,\"path\":null") }
    head.withBytes { bytes in
      pending.append("\",\"method\":")
      JSONText.append(bytes.bytes(at: head.methodRange), to: &pending)
      pending.append(",\"path\":")
      let target = bytes.bytes(at: head.isComplete ? head.target : head.targetAsSent)
      // The absolute form that was refused may hold a password.
      guard head.isComplete || target.count > 0 && target[0] == UInt8(ascii: "/") else { return pending.append("null") }
      JSONText.append(Self.withoutQuery(target), to: &pending)
    }
  }

  @_lifetime(copy target)
  private static func withoutQuery(_ target: Span<UInt8>) -> Span<UInt8> {
    for index in target.indices where target[index] == UInt8(ascii: "?") { return target.extracting(0..<index) }
    return target
  }

  private func appendDecision(_ record: ExchangeRecord) {
    guard let decision = record.decision, decision.outcome != .open else { return }
    appendMember(",\"gate\":\"", decision.outcome.rawValue)
    if let reason = decision.reason { appendMember(",\"reason\":\"", reason.rawValue) }
    if let key = decision.keyPrefix { appendMember(",\"key_id\":\"", key) }
    if let delta = decision.counterDelta {
      pending.append(",\"counter_delta\":")
      pending.append(decimal: delta)
    }
    if let failure = decision.storeFailure {
      pending.append(",\"store_failure\":")
      JSONText.append(failure, to: &pending)
    }
  }

  private func appendDurations(_ record: ExchangeRecord, until now: Instant) {
    pending.append(",\"duration_us\":")
    pending.append(decimal: Int((now.nanoseconds - record.startedAt.nanoseconds) / 1_000))
    if record.gateNanoseconds > 0 {
      pending.append(",\"gate_us\":")
      pending.append(decimal: Int(record.gateNanoseconds / 1_000))
    }
    if let store = record.decision?.storeNanoseconds, store > 0 {
      pending.append(",\"store_us\":")
      pending.append(decimal: Int(store / 1_000))
    }
    if record.upstreamNanoseconds > 0 {
      pending.append(",\"upstream_us\":")
      pending.append(decimal: Int(record.upstreamNanoseconds / 1_000))
    }
  }

  /// A string member whose value needs no escaping.
  private func appendMember(_ begin: StaticString, _ value: String) {
    pending.append(begin)
    pending.append(value)
    pending.append(UInt8(ascii: "\""))
  }
}
