import COpenSSL

/// Why TLS failed, whole in one value: libssl's own error queue is empty once this is made.
public struct TLSFailure: Error, Equatable, Sendable, CustomStringConvertible {
  /// Whose fault it is.
  public enum Side: String, Sendable, CaseIterable {
    /// The other end broke the protocol, offered nothing that is taken, or showed a certificate that does not hold.
    case peer
    /// The connection broke, or ended without TLS's own end.
    case network
    /// The deadline passed.
    case time
    /// Our certificates, our memory.
    case ours
  }

  /// Whose fault it is.
  public let side: Side
  /// What is wrong, for the operator.
  public let reason: String

  /// A failure.
  public init(_ side: Side, _ reason: String) {
    self.side = side
    self.reason = reason
  }

  /// Side and reason.
  public var description: String { reason }

  /// What libssl's error queue says, which is empty afterwards; `side` where the queue does not tell.
  static func drained(_ side: Side, _ fallback: String) -> TLSFailure {
    let first = ERR_peek_error()
    let isEnd = cossl_error_is_end(first) == 1
    let words = unsafe first == 0 ? nil : ERR_reason_error_string(first).map { unsafe String(cString: $0) }
    // libssl takes whatever comes for a record, and its first bytes for a version.
    let text = cossl_error_is_no_record(first) == 1 ? "what came is no TLS" : words
    ERR_clear_error()
    return isEnd ? TLSFailure(.network, "the connection ended without TLS's own end") : TLSFailure(side, text ?? fallback)
  }
}
