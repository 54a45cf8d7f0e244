public import HTTP

/// The five classes that operators know from Firebase's dashboard.
public enum DecisionClass: String, Sendable, CaseIterable {
  /// Every check passed.
  case verified
  /// The request carried no assertion: an outdated client, or none of ours.
  case noAssertion = "no_assertion"
  /// Signed by a key that is not enrolled here.
  case unknownKey = "unknown_key"
  /// Something in it is wrong.
  case invalid
  /// The same assertion, challenge or counter was used before.
  case replayed

  /// The class of a request that failed for `reason`; nil for what says nothing about the request: the store or the gate was not able to judge.
  public init?(failure reason: ProblemCode) {
    switch reason {
    case .assertionMissing: self = .noAssertion
    case .keyUnknown, .assertionUnrecognised: self = .unknownKey
    case .counterReplayed, .assertionAlreadyAccepted, .challengeUsed: self = .replayed
    case .storeUnavailable, .overloaded, .internalError, .rateLimited, .bodyTooLarge, .requestTimeout: return nil
    default: self = .invalid
    }
  }
}
