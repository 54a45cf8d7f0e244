public import AppAttest
public import Cryptography

/// What never changes about an enrolled key, and so may be cached by a worker (store.md).
public struct EnrolledKey: Sendable, Equatable {
  /// SHA-256 of the public key.
  public let identifier: KeyIdentifier
  /// The uncompressed point 0x04 ‖ X ‖ Y, 65 bytes.
  public let publicKey: [UInt8]
  /// The app's App ID, `PREFIX.bundle`.
  public let app: String
  /// The environment that attested it.
  public let environment: AttestationEnvironment
  /// SHA-256 of the trust anchor's DER.
  public let trustRoot: SHA256Digest

  /// A key as it was enrolled.
  public init(
    identifier: KeyIdentifier, publicKey: [UInt8], app: String, environment: AttestationEnvironment, trustRoot: SHA256Digest
  ) {
    self.identifier = identifier
    self.publicKey = publicKey
    self.app = app
    self.environment = environment
    self.trustRoot = trustRoot
  }
}

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

/// The mark that makes a challenge one-time: which challenge, until when, and by which bytes it was used.
public struct ChallengeMark: Sendable, Equatable {
  /// SHA-256 of the challenge text; its first 16 bytes name the mark.
  public var challenge: SHA256Digest
  /// When the challenge expires, in seconds since 1970; the mark lives 5 s longer.
  public var expiresAt: Int
  /// SHA-256 over assertion (or attestation) ‖ client data; its first 16 bytes are the mark's value.
  public var fingerprint: SHA256Digest

  /// A mark for one use of one challenge.
  public init(challenge: SHA256Digest, expiresAt: Int, fingerprint: SHA256Digest) {
    self.challenge = challenge
    self.expiresAt = expiresAt
    self.fingerprint = fingerprint
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

/// How a route accepts counters.
public enum CounterRule: Sendable, Equatable {
  /// Greater than the stored one.
  case strict
  /// RFC 4303 section 3.4.3: any not yet seen value above highest − window; 1 to 1,024.
  case window(Int)
}

/// One verified assertion, to be accepted or refused in one atomic step.
public struct Commit: Sendable {
  /// The key that signed.
  public var key: KeyIdentifier
  /// The assertion's counter.
  public var counter: UInt32
  /// The route's rule for it.
  public var rule: CounterRule
  /// The challenge that it uses up; nil for `client_data: body`.
  public var challenge: ChallengeMark?
  /// Seconds since 1970.
  public var seenAt: Int

  /// A step to be judged.
  public init(key: KeyIdentifier, counter: UInt32, rule: CounterRule, challenge: ChallengeMark?, seenAt: Int) {
    self.key = key
    self.counter = counter
    self.rule = rule
    self.challenge = challenge
    self.seenAt = seenAt
  }
}

/// What *commit* found; anything but `accepted` changed nothing.
public enum CommitOutcome: Sendable, Equatable {
  /// Challenge used, counter stored. `previousCounter` is the highest one before.
  case accepted(previousCounter: UInt32)
  /// No such key: the worker drops its cache entry.
  case keyUnknown
  /// The key is revoked.
  case keyRevoked
  /// The challenge was used by other bytes.
  case challengeUsed
  /// These very bytes were accepted before.
  case alreadyAccepted
  /// The counter was accepted before.
  case counterRepeated
  /// The counter is below what the rule still accepts.
  case counterOutOfOrder
}

/// The store did not answer as it must; the gate fails closed.
public struct StoreFailure: Error, Sendable, Equatable {
  /// Whether the command was sent, so that it may have been carried out.
  public var outcomeUnknown: Bool
  /// For the log, never for a client.
  public var reason: String

  /// A failure with its reason.
  public init(outcomeUnknown: Bool, reason: String) {
    self.outcomeUnknown = outcomeUnknown
    self.reason = reason
  }
}

/// One worker's way to keys, counters and challenges. Every method runs on the caller's executor.
public protocol Store: AnyObject {
  /// The secrets and the run that challenges are sealed with, nil while the store is away.
  var sealing: SealingSecrets? { get }

  /// Finds the one enrolled key among up to four identifiers, in one round trip.
  func enrolledKey(among candidates: [KeyIdentifier]) async throws(StoreFailure) -> EnrolledKey?

  /// What is known of a key before its attestation is verified.
  func enrolmentState(of key: KeyIdentifier) async throws(StoreFailure) -> EnrolmentState

  /// Whether the challenge is marked used.
  func isUsed(_ challenge: SHA256Digest) async throws(StoreFailure) -> Bool

  /// The atomic step *enroll*.
  func enroll(_ enrolment: Enrolment) async throws(StoreFailure) -> EnrolmentOutcome

  /// The atomic step *commit*.
  func commit(_ commit: Commit) async throws(StoreFailure) -> CommitOutcome

  // For `attestgate keys`.

  /// Up to `limit` records from `cursor` on (0 begins); the next cursor is 0 at the end.
  func records(from cursor: UInt64, limit: Int) async throws(StoreFailure) -> (records: [KeyRecord], next: UInt64)

  /// All that is stored of one key.
  func record(of key: KeyIdentifier) async throws(StoreFailure) -> KeyRecord?

  /// Revokes or restores a key; false when there is none.
  func setActive(_ active: Bool, key: KeyIdentifier) async throws(StoreFailure) -> Bool
}

/// All that is stored of one key, for people and programs that look after the store.
public struct KeyRecord: Sendable, Equatable {
  /// The unchanging parts.
  public var key: EnrolledKey
  /// Highest counter accepted.
  public var counter: UInt32
  /// Whether assertions by it are accepted.
  public var isActive: Bool
  /// Seconds since 1970.
  public var enrolledAt: Int
  /// Seconds since 1970; nil before the first assertion.
  public var seenAt: Int?
  /// SHA-256 of the attestation object.
  public var attestation: SHA256Digest
  /// Size of the receipt in bytes.
  public var receiptByteCount: Int
  /// `apple_validation_category_01`.
  public var category: UInt32?
  /// `apple_bundle_version_01`.
  public var bundleVersion: String?

  /// A record.
  public init(
    key: EnrolledKey, counter: UInt32, isActive: Bool, enrolledAt: Int, seenAt: Int?, attestation: SHA256Digest,
    receiptByteCount: Int, category: UInt32?, bundleVersion: String?
  ) {
    self.key = key
    self.counter = counter
    self.isActive = isActive
    self.enrolledAt = enrolledAt
    self.seenAt = seenAt
    self.attestation = attestation
    self.receiptByteCount = receiptByteCount
    self.category = category
    self.bundleVersion = bundleVersion
  }
}
