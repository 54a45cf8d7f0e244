public import Cryptography

/// All that *enroll* writes, in one atomic step.
public struct Enrolment: Sendable {
  /// The key's unchanging parts.
  public var key: EnrolledKey
  /// SHA-256 of the attestation object: a resend is recognised by it.
  public var attestation: SHA256Digest
  /// Apple's receipt, as it came.
  public var receipt: [UInt8]
  /// `apple_validation_category_01`, if the device wrote one.
  public var category: UInt32?
  /// `apple_bundle_version_01`, if the device wrote one.
  public var bundleVersion: String?
  /// The challenge that the attestation answers: marked used in the same step.
  public var challenge: ChallengeMark
  /// Seconds since 1970.
  public var enrolledAt: Int

  /// A key whose attestation was verified.
  public init(
    key: EnrolledKey, attestation: SHA256Digest, receipt: [UInt8], category: UInt32?, bundleVersion: String?,
    challenge: ChallengeMark, enrolledAt: Int
  ) {
    self.key = key
    self.attestation = attestation
    self.receipt = receipt
    self.category = category
    self.bundleVersion = bundleVersion
    self.challenge = challenge
    self.enrolledAt = enrolledAt
  }
}

/// What *enroll* found.
public enum EnrolmentOutcome: Sendable, Equatable {
  /// The key is written, the challenge used.
  case enrolled
  /// The same attestation had enrolled it before; nothing changed.
  case enrolledBefore
  /// The same attestation, but the key was revoked since.
  case revoked
  /// The key belongs to another attestation.
  case otherAttestation
  /// The challenge was used by other bytes.
  case challengeUsed
}

/// What is known about a key identifier before an attestation is verified (wire.md, Enrolment 2).
public enum EnrolmentState: Sendable, Equatable {
  /// No such key.
  case absent
  /// Known, with the attestation object's SHA-256 and whether it is active.
  case present(attestation: SHA256Digest, active: Bool, key: EnrolledKey)
}
