public import AppAttest
public import Cryptography

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
  /// The record of a key that enrols now.
  init(_ enrolment: Enrolment) {
    self.init(
      key: enrolment.key, counter: 0, isActive: true, enrolledAt: enrolment.enrolledAt, seenAt: nil, attestation: enrolment.attestation,
      receiptByteCount: enrolment.receipt.count, category: enrolment.category, bundleVersion: enrolment.bundleVersion)
  }
}

/// Some of the keys of a store. As Redis' SCAN does, a page may be empty before the end, and a key may come twice.
public struct KeyRecordPage: Sendable, Equatable {
  /// Those that are as the gate wrote them.
  public var records: [KeyRecord]
  /// Keys whose record is not: no request of theirs is accepted.
  public var damaged: [KeyIdentifier]
  /// Where the next page begins; 0 when this is the last.
  public var next: UInt64

  /// A page.
  public init(records: [KeyRecord], damaged: [KeyIdentifier] = [], next: UInt64 = 0) {
    self.records = records
    self.damaged = damaged
    self.next = next
  }
}
