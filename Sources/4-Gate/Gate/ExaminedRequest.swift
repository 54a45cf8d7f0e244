import AppAttest
import Cryptography
import Store

/// A request whose inputs were read from its head, or the reason why they cannot be. It is good for one question: ``Gate/examine(_:hint:)``.
public struct ReadRequest: ~Copyable {
  let inputs: Result<RequestInputs, CheckFailure>
  let hasNoBody: Bool
  let policy: SharedPolicy
}

/// A request whose head passed every check that needs no body. It is good for one question: ``Gate/judge(_:body:)``.
public struct ExaminedRequest: ~Copyable {
  /// How far the examination came.
  enum Ground: ~Copyable {
    /// Signed; the body must have the digest that was signed.
    case signed(SignedRequest)
    /// `client_data: body`: the signature is over the body.
    case unsigned(RequestInputs, hint: KeyIdentifier?)
    /// The store is away and the route admits then: what needs no store passed, but for the body's digest.
    case storeAway(CheckFailure, bodyDigest: SHA256Digest?)

    /// Whether what remains cannot be judged without the body.
    var needsBody: Bool {
      switch self {
      case .signed(let request): request.bodyDigest != nil
      case .unsigned: true
      case .storeAway(_, let bodyDigest): bodyDigest != nil
      }
    }
  }

  let ground: Ground
  let policy: SharedPolicy
  var trace: GateTrace

  init(_ ground: consuming Ground, policy: SharedPolicy, trace: GateTrace) {
    self.ground = ground
    self.policy = policy
    self.trace = trace
  }
}

/// A request that passed every check but the store's. It is good for one question: ``Gate/admit(_:)``.
public struct PassedRequest: ~Copyable {
  let request: SignedRequest
  let policy: SharedPolicy
  var trace: GateTrace

  init(_ request: consuming SignedRequest, policy: SharedPolicy, trace: GateTrace) {
    self.request = request
    self.policy = policy
    self.trace = trace
  }
}

/// A request whose signature was verified, and what remains to be done with it.
struct SignedRequest: ~Copyable {
  let assertion: VerifiedAssertion
  let key: CachedKey
  /// What *commit* marks used; nil for `client_data: body`.
  let challenge: ChallengeMark?
  /// What the body's digest must be; nil when the body was signed itself or is not bound.
  let bodyDigest: SHA256Digest?
}

/// What is noted down on the way, for log and metrics.
struct GateTrace {
  var key: KeyIdentifier?
  var store: StoreAccess
}
