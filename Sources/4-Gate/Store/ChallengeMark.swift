public import Cryptography

/// The mark that makes a challenge one-time: which challenge, until when, and by which bytes it was used.
public struct ChallengeMark: Sendable, Equatable {
  /// SHA-256 of the challenge text; its first 16 bytes name the mark.
  public let challenge: SHA256Digest
  /// When the challenge expires, in seconds since 1970; the mark outlives it.
  public let expiresAt: Int
  /// The run of the store under which the challenge was judged: the store refuses to write the mark in any other.
  public let runTag: UInt32
  /// SHA-256 over assertion (or attestation) ‖ client data; its first 16 bytes are the mark's value.
  public let fingerprint: SHA256Digest

  /// Made by ``OpenedChallenge/mark(for:fingerprint:)`` alone: no use is written of a challenge whose seal and key were not judged.
  init(challenge: SHA256Digest, expiresAt: Int, runTag: UInt32, fingerprint: SHA256Digest) {
    self.challenge = challenge
    self.expiresAt = expiresAt
    self.runTag = runTag
    self.fingerprint = fingerprint
  }

  /// Bytes of the fingerprint that are stored.
  static let fingerprintByteCount = 16
  /// How long the mark lives beyond the challenge's last acceptable second, for gates whose clocks are behind this one's.
  static let clockMarginSeconds = 30
  /// No mark lives shorter: copies of a request whose body is still coming in commit after the challenge has expired.
  static let lifetimeSecondsMin = 300

  /// For how many seconds a mark that is written at `now` is kept.
  func lifetimeSeconds(at now: Int) -> Int {
    let (left, overflow) = expiresAt.subtractingReportingOverflow(now)
    guard !overflow else { return Self.lifetimeSecondsMin }
    let kept = min(left, ChallengeSeal.timeToLiveSecondsMax) + ChallengeSeal.expiryToleranceSeconds + Self.clockMarginSeconds
    return max(kept, Self.lifetimeSecondsMin)
  }
}
