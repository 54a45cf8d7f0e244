public import Cryptography

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

/// What is known of a key once its attestation is verified. Only the verifier can make one.
public struct VerifiedAttestation: Sendable, Equatable {
  /// SHA-256 of ``publicKey``.
  public let keyIdentifier: KeyIdentifier
  /// The uncompressed point 0x04 ‖ X ‖ Y, 65 bytes.
  public let publicKey: [UInt8]
  /// The app that made the key.
  public let app: AppIdentity
  /// Where it was attested.
  public let environment: AttestationEnvironment
  /// SHA-256 of the trust anchor's DER.
  public let trustRoot: SHA256Digest
  /// Apple's receipt as it came, 1 to 8,192 bytes. Not verified, and not covered by anything that is.
  public let receipt: [UInt8]
  /// `apple_validation_category_01`, if the device wrote one.
  public let category: UInt32?
  /// `apple_bundle_version_01`, if the device wrote one.
  public let bundleVersion: String?
}

/// The outcome of a verification.
public enum AttestationVerdict: Sendable, Equatable {
  /// Every step passed.
  case verified(VerifiedAttestation)
  /// The first step that failed, and why, for the log.
  case refused(AttestationRefusal, reason: String)
}
