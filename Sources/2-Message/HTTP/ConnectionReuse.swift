/// The one place that decides whether a connection may be used again, on either side (RFC 9112 section 9.3).
public enum ConnectionReuse {
  /// What the head of a message says.
  static func persists(_ version: HTTPVersion, _ options: ConnectionOptions) -> Bool {
    if options.hasClose { return false }
    return version == .http11 || options.hasKeepAlive
  }

  /// Whether the gate reads another request from a client's connection.
  ///
  /// - Parameters:
  ///   - requestKeepsAlive: ``RequestHead/keepsAlive``.
  ///   - requestBodyEnded: every byte of the request's body was read; else what follows is not a head.
  ///   - answerFraming: how the answer was framed for the client.
  ///   - answerEnded: the answer was written to its end.
  ///   - isDraining: the gate is going down.
  public static func ofClient(
    requestKeepsAlive: Bool, requestBodyEnded: Bool, answerFraming: BodyFraming, answerEnded: Bool, isDraining: Bool
  ) -> Bool {
    requestKeepsAlive && requestBodyEnded && answerFraming != .untilClose && answerEnded && !isDraining
  }

  /// Whether a connection to an upstream goes back to the pool.
  ///
  /// - Parameters:
  ///   - answerKeepsAlive: ``ResponseHead/keepsAlive``.
  ///   - answerFraming: ``ResponseHead/framing``.
  ///   - answerEnded: the answer was read to its end.
  ///   - requestEnded: the request was sent to its end; an upstream that answered before may take the rest for a request.
  ///   - surplusBytes: bytes that came behind the answer's end, which belong to no request.
  public static func ofUpstream(
    answerKeepsAlive: Bool, answerFraming: BodyFraming, answerEnded: Bool, requestEnded: Bool, surplusBytes: Int
  ) -> Bool {
    answerKeepsAlive && answerFraming != .untilClose && answerEnded && requestEnded && surplusBytes == 0
  }
}
