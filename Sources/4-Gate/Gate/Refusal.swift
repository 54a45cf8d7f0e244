public import HTTP

/// The gate's answer in place of the upstream's: everything that the problem document and its header lines need.
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
  /// A fresh challenge of purpose *assert*, for `WWW-Authenticate: AppAttest challenge="…"`; only with a 401 of a route.
  public var challenge: String?
  /// `Retry-After`, in seconds.
  public var retryAfterSeconds: Int?
  /// For log and metrics; nil at the gate's own endpoints.
  public var decision: Decision?

  /// A refusal.
  public init(code: ProblemCode, detail: String, place: Place, challenge: String? = nil, decision: Decision? = nil) {
    self.code = code
    self.detail = detail
    self.place = place
    self.challenge = challenge
    self.decision = decision
    switch code {
    case .storeUnavailable, .overloaded, .rateLimited: retryAfterSeconds = 1
    default: retryAfterSeconds = nil
    }
  }
}
