/// Why an attestation is not accepted. The raw values are the codes that clients see.
public enum AttestationRefusal: String, Sendable, CaseIterable {
  /// Not CBOR, not the members, or not the sizes of an attestation object.
  case malformed = "attestation_malformed"
  /// `fmt` is not `apple-appattest`.
  case format = "attestation_format"
  /// The certificates are not a leaf and an intermediate that end, now, at a trusted root.
  case certificateChainInvalid = "certificate_chain_invalid"
  /// The leaf is about other authenticator data or another challenge.
  case nonceMismatch = "nonce_mismatch"
  /// The certified key, or the credential's, is not the named one.
  case keyIDMismatch = "key_id_mismatch"
  /// Made for an app that is not configured.
  case rpIDMismatch = "rp_id_mismatch"
  /// The key has signed before.
  case counterNotZero = "counter_not_zero"
  /// Made in an environment that the app does not admit, or that is not known.
  case environmentNotAllowed = "environment_not_allowed"
  /// The credential is not the named key.
  case credentialIDMismatch = "credential_id_mismatch"
  /// The receipt is empty or too large.
  case receiptMalformed = "receipt_malformed"
}

/// The outcome of a verification.
public enum AttestationVerdict: Sendable, Equatable {
  /// Every step passed.
  case verified(VerifiedAttestation)
  /// The first step that failed, and why, for the log.
  case refused(AttestationRefusal, reason: String)
}
