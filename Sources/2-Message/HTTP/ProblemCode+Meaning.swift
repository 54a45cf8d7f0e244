/// What an app should do about a refusal: the `recovery` of a problem document.
public enum Recovery: String, Sendable {
  case retryLater = "retry_later"
  case fetchChallenge = "fetch_challenge"
  case signAgain = "sign_again"
  case enrolAgain = "enroll_again"
  case useKey = "use_key"
  case checkResult = "check_result"
  case fixRequest = "fix_request"
  case giveUp = "give_up"
}

extension ProblemCode {
  /// The status of an answer with this code, unless a ``ProblemDocument`` says otherwise: a request line that is too long is 414,
  /// a challenge refused at the enrolment endpoint is 400.
  public var status: Int {
    switch self {
    case .assertionMissing, .keyUnknown, .signatureInvalid, .assertionUnrecognised, .counterReplayed, .challengeUnknown,
      .challengeExpired, .challengeUsed, .challengeWrongPurpose, .challengeWrongKey:
      401
    case .methodMismatch, .pathMismatch, .queryMismatch, .queryUnbound, .hostMismatch, .bodyMismatch, .keyRevoked, .appNotAllowed,
      .environmentNotAllowed, .categoryNotAllowed, .bundleVersionTooOld, .riskTooHigh, .rpIDMismatch:
      403
    case .assertionMalformed, .clientDataMissing, .clientDataMalformed, .keyIDMalformed, .challengeMissing, .attestationMalformed,
      .attestationFormat, .certificateChainInvalid, .nonceMismatch, .keyIDMismatch, .credentialIDMismatch, .counterNotZero,
      .receiptMalformed, .requestMalformed, .httpMalformed, .pathAmbiguous:
      400
    case .assertionAlreadyAccepted, .keyAlreadyEnrolled: 409
    case .noRoute: 404
    case .methodNotAllowed: 405
    case .requestTimeout: 408
    case .bodyTooLarge: 413
    case .expectationFailed: 417
    case .rateLimited: 429
    case .headersTooLarge: 431
    case .internalError: 500
    case .notImplemented: 501
    case .upstreamUnreachable, .upstreamInvalid: 502
    case .overloaded, .storeUnavailable: 503
    case .upstreamTimeout: 504
    case .versionNotSupported: 505
    }
  }

  /// What an app should do.
  public var recovery: Recovery {
    switch self {
    case .assertionMissing, .signatureInvalid, .assertionUnrecognised, .counterReplayed: .signAgain
    case .keyUnknown, .attestationMalformed, .attestationFormat, .certificateChainInvalid, .nonceMismatch, .keyIDMismatch,
      .credentialIDMismatch, .counterNotZero, .receiptMalformed:
      .enrolAgain
    case .keyRevoked, .appNotAllowed, .environmentNotAllowed, .categoryNotAllowed, .bundleVersionTooOld, .riskTooHigh, .rpIDMismatch:
      .giveUp
    case .assertionAlreadyAccepted: .checkResult
    case .challengeUnknown, .challengeExpired, .challengeUsed, .challengeWrongPurpose, .challengeWrongKey: .fetchChallenge
    case .keyAlreadyEnrolled: .useKey
    case .overloaded, .rateLimited, .storeUnavailable, .internalError, .upstreamUnreachable, .upstreamTimeout, .upstreamInvalid:
      .retryLater
    case .assertionMalformed, .clientDataMissing, .clientDataMalformed, .keyIDMalformed, .methodMismatch, .pathMismatch,
      .queryMismatch, .queryUnbound, .hostMismatch, .bodyMismatch, .challengeMissing, .requestMalformed, .httpMalformed,
      .pathAmbiguous, .methodNotAllowed, .requestTimeout, .headersTooLarge, .notImplemented, .versionNotSupported,
      .expectationFailed, .bodyTooLarge, .noRoute:
      .fixRequest
    }
  }

  /// One line for people; the same for every answer with this code (RFC 9457 section 3.1.3).
  public var title: String {
    switch self {
    case .assertionMissing: "An App Attest assertion is required"
    case .assertionMalformed: "The assertion is malformed"
    case .clientDataMissing: "The client data is missing"
    case .clientDataMalformed: "The client data is malformed"
    case .keyIDMalformed: "The key identifier is malformed"
    case .methodMismatch: "The request has another method than was signed"
    case .pathMismatch: "The request has another path than was signed"
    case .queryMismatch: "The request has another query than was signed"
    case .queryUnbound: "The request has a query that was not signed"
    case .hostMismatch: "The request has another host than was signed"
    case .bodyMismatch: "The request has another body than was signed"
    case .keyUnknown: "The key is not enrolled"
    case .keyRevoked: "The key is revoked"
    case .appNotAllowed: "The app is not allowed here"
    case .environmentNotAllowed: "The App Attest environment is not allowed here"
    case .categoryNotAllowed: "The app's category is not allowed here"
    case .bundleVersionTooOld: "The app's version is too old"
    case .riskTooHigh: "The device's risk is too high"
    case .signatureInvalid: "The signature is invalid"
    case .assertionUnrecognised: "No enrolled key made this assertion"
    case .rpIDMismatch: "The assertion was made by another app"
    case .counterReplayed: "The counter was used before"
    case .assertionAlreadyAccepted: "The assertion was accepted before"
    case .challengeMissing: "The challenge is missing"
    case .challengeUnknown: "The challenge is unknown"
    case .challengeExpired: "The challenge has expired"
    case .challengeUsed: "The challenge was used before"
    case .challengeWrongPurpose: "The challenge is for another purpose"
    case .challengeWrongKey: "The challenge is for another key"
    case .attestationMalformed: "The attestation is malformed"
    case .attestationFormat: "The attestation has another format"
    case .certificateChainInvalid: "The certificate chain is invalid"
    case .nonceMismatch: "The attestation is for another challenge"
    case .keyIDMismatch: "The attestation is for another key"
    case .credentialIDMismatch: "The attestation has another credential"
    case .counterNotZero: "The attestation's counter is not zero"
    case .receiptMalformed: "The receipt is malformed"
    case .keyAlreadyEnrolled: "The key is enrolled already"
    case .requestMalformed: "The request is malformed"
    case .httpMalformed: "The HTTP message is malformed"
    case .pathAmbiguous: "The path is ambiguous"
    case .methodNotAllowed: "The method is not allowed"
    case .requestTimeout: "The request took too long"
    case .headersTooLarge: "The head is too large"
    case .notImplemented: "Not implemented"
    case .versionNotSupported: "The HTTP version is not supported"
    case .expectationFailed: "The expectation cannot be met"
    case .overloaded: "The gate is overloaded"
    case .bodyTooLarge: "The body is too large"
    case .rateLimited: "Too many requests"
    case .storeUnavailable: "The key store is unavailable"
    case .internalError: "Internal error"
    case .noRoute: "There is nothing here"
    case .upstreamUnreachable: "The upstream is unreachable"
    case .upstreamTimeout: "The upstream took too long"
    case .upstreamInvalid: "The upstream's answer is invalid"
    }
  }
}
