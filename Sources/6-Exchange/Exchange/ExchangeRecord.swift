import Bytes
import EventLoop
import Gate
import HTTP

/// What is remembered of one exchange for its log line and its metrics.
struct ExchangeRecord {
  /// The status of a log line whose client went before it was answered.
  static let clientClosed = 499

  let identifier: RequestIdentifier
  /// When the head was complete.
  var startedAt: Instant
  /// Index of the route; nil when none took the request.
  var route: Int?
  /// The endpoint's path, when the gate answers itself.
  var isEndpoint = false
  var status = 0
  var decision: Decision?
  /// Why the gate answered itself, for the log.
  var code: ProblemCode?
  /// What lies behind the code: what the client was told, or the reason that it was not told.
  var detail: String?
  /// What went wrong with the upstream.
  var upstreamFailure: String?
  var server: String?
  var gateNanoseconds: UInt64 = 0
  var upstreamNanoseconds: UInt64 = 0
  /// The connection's count when the exchange began.
  var bytesWrittenBefore = 0
  /// The identifier that a trusted peer gave the request; it stands for our own then.
  var givenIdentifier: [UInt8]?
  /// What a trusted peer's `X-Forwarded-Proto` says.
  var forwardedTLS: Bool?
  /// The client's key, when a WebSocket was asked of the upstream.
  var webSocketKey: [UInt8]?
  /// Once a tunnel has ended.
  var tunnel: TunnelRecord?

  /// The request's identifier in log, problem documents and `X-Request-Id`.
  var identifierText: [UInt8] { givenIdentifier ?? identifier.digits }

  /// Appends the request's identifier.
  func appendIdentifier(to queue: inout ByteQueue) {
    if let givenIdentifier { queue.append(givenIdentifier) } else { identifier.append(to: &queue) }
  }
}
