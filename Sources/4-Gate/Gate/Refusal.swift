public import HTTP

/// The gate's answer in place of the upstream's.
public struct Refusal: Sendable, Equatable {
  /// Where it was refused: the codes of a challenge mean another status and another recovery at `/attest/verify`.
  public enum Place: Sendable {
    /// On a gated route.
    case route
    /// At one of the gate's own endpoints.
    case endpoint
  }

  /// What the app acts on.
  public var code: ProblemCode
  /// For a developer: what was wrong with the request, never anything about keys, counters or upstreams.
  public var detail: String
  /// Where it was refused.
  public var place: Place
  /// A fresh challenge of purpose *assert*, for `WWW-Authenticate`; only with a 401 of a route.
  public var challenge: String?
  /// What lies behind it at one of the gate's own endpoints; for the log, never for the client.
  public var reason: String?
  /// For log and metrics; nil at the gate's own endpoints.
  public var decision: Decision?

  /// A refusal.
  public init(code: ProblemCode, detail: String, place: Place) {
    self.code = code
    self.detail = detail
    self.place = place
  }

  /// The status of the answer.
  public var status: Int { concernsEnrolmentChallenge ? 400 : code.status }

  /// What the app should do. A key can be attested once, so that after a refused challenge it takes a new key and a new challenge.
  public var recovery: Recovery { concernsEnrolmentChallenge ? .enrolAgain : code.recovery }

  /// For clients that should come back, in seconds.
  public var retryAfterSeconds: Int? {
    switch code {
    case .storeUnavailable, .overloaded, .rateLimited: knownWaitSeconds ?? 1
    default: nil
    }
  }

  /// When the request will be taken, where that is known.
  var knownWaitSeconds: Int?

  /// The answer's body and fields (wire.md, "What the client sees when rejected").
  public func document(requestID: [UInt8]) -> ProblemDocument {
    var fields: [AnswerField] = []
    if let challenge { fields.append(.authenticate(challenge: Array(challenge.utf8))) }
    if let retryAfterSeconds { fields.append(.retryAfter(seconds: retryAfterSeconds)) }
    var document = ProblemDocument(code, detail: detail, requestID: requestID, fields: fields)
    document.status = status
    document.recovery = recovery
    return document
  }

  private var concernsEnrolmentChallenge: Bool {
    guard place == .endpoint else { return false }
    switch code {
    case .challengeUnknown, .challengeExpired, .challengeUsed, .challengeWrongPurpose, .challengeWrongKey: return true
    default: return false
    }
  }
}
