import AppAttest
import HTTP
import Store

/// The first check that a request did not pass. What it means, a refusal or a remark to the upstream, is the policy's to say.
struct CheckFailure: Error, Equatable {
  var code: ProblemCode
  /// For the client's developer.
  var detail: String
  /// What went wrong with the store, for the log.
  var storeFailure: String?
  /// Why an attestation is refused, for the log.
  var reason: String?
  /// Whether the store may have accepted the request without saying so.
  var isOutcomeUnknown = false
  /// Which of the two kinds of `counter_replayed`.
  var replay: CounterReplay?
  /// When the request may be repeated.
  var retryAfterSeconds: Int?

  init(_ code: ProblemCode, _ detail: String) {
    self.code = code
    self.detail = detail
  }

  /// The store could not be asked, or did not answer a question that changes nothing.
  init(lookUp failure: StoreFailure) {
    self.init(.storeUnavailable, "The request could not be judged and was not forwarded.")
    storeFailure = failure.reason
  }

  /// The store could not be asked about an enrolment, or did not answer; a resend is answered as the first copy was.
  init(enrolment failure: StoreFailure) {
    self.init(.storeUnavailable, "The key could not be enrolled now.")
    storeFailure = failure.reason
  }

  /// The gate verifies only so many attestations in a time.
  init(enrolmentAfter nanoseconds: UInt64) {
    self.init(.rateLimited, "Too many keys are being enrolled; nothing of the request was used up.")
    retryAfterSeconds = Int(nanoseconds / 1_000_000_000) + 1
  }

  /// The store did not accept the request, or did not say whether it did.
  init(commit failure: StoreFailure) {
    self.init(lookUp: failure)
    guard failure.outcomeUnknown else { return }
    detail = "outcome: unknown"
    isOutcomeUnknown = true
  }

  /// What *commit* refused.
  init(_ outcome: CommitOutcome) {
    switch outcome {
    case .accepted: self.init(.internalError, "The request was not forwarded.")
    case .keyUnknown: self.init(.keyUnknown, "The key is no longer enrolled here.")
    case .keyRevoked: self = .keyRevoked
    case .challengeUsed: self = .challengeUsed
    case .alreadyAccepted: self.init(.assertionAlreadyAccepted, "This very request was accepted before; its one use is over.")
    case .counterRepeated: self.init(.repeated)
    case .counterOutOfOrder: self.init(.outOfOrder)
    case .rateLimited(let milliseconds):
      self.init(.rateLimited, "This key comes too often; nothing of the request was used up, and it may be repeated as it is.")
      retryAfterSeconds = milliseconds / 1_000 + 1
    }
  }

  /// The first of Apple's steps that failed; `reason` is for the log.
  init(_ refusal: AttestationRefusal, reason: String) {
    self.init(ProblemCode(rawValue: refusal.rawValue) ?? .attestationMalformed, "The attestation did not pass verification.")
    self.reason = reason
  }

  static var keyRevoked: CheckFailure { CheckFailure(.keyRevoked, "The key was revoked.") }
  static var keyAlreadyEnrolled: CheckFailure { CheckFailure(.keyAlreadyEnrolled, "The key was enrolled with another attestation.") }
  static var challengeUsed: CheckFailure { CheckFailure(.challengeUsed, "The challenge was used before.") }
  static var bodyTooLarge: CheckFailure { CheckFailure(.bodyTooLarge, "The body is larger than this route admits.") }

  /// A counter that was seen before, or is too far behind.
  init(_ replay: CounterReplay) {
    code = .counterReplayed
    detail = replay.rawValue
    self.replay = replay
  }

  /// What keeps an assertion from being one of this key and app.
  init(_ refusal: AssertionRefusal) {
    switch refusal {
    case .malformed: self.init(.assertionMalformed, "The assertion is not the CBOR map that a device makes.")
    case .rpIDMismatch: self.init(.rpIDMismatch, "The assertion was made for another app.")
    case .counterReplayed: self.init(.outOfOrder)
    case .signatureInvalid: self.init(.signatureInvalid, "The signature is not one of the named key over these bytes.")
    }
  }

  /// What keeps a challenge from being accepted.
  init(_ refusal: ChallengeRefusal) {
    switch refusal {
    case .unknown: self.init(.challengeUnknown, "The challenge is not one of this gate's, or older than its store.")
    case .expired: self.init(.challengeExpired, "The challenge has expired.")
    case .wrongPurpose: self.init(.challengeWrongPurpose, "The challenge was made for the other endpoint.")
    case .wrongKey: self.init(.challengeWrongKey, "The challenge was made for another key.")
    }
  }
}

/// Why a counter is not accepted (wire.md, Counter).
public enum CounterReplay: String, Sendable, CaseIterable {
  /// Below what the route's rule still accepts; an honest app that sends requests side by side may cause it.
  case outOfOrder = "out_of_order"
  /// Accepted before.
  case repeated
}
