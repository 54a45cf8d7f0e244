import AppAttest
import Cryptography
import EventLoop

@testable import Store

/// Enrolled keys for the tests.
enum TestKey {
  static func make() -> EnrolledKey {
    let point = P256PrivateKey.generate().x963
    return EnrolledKey(
      identifier: KeyIdentifier(SHA256.digest(point.span)), publicKey: point, app: "ABCDE12345.com.example.shop",
      environment: .production, trustRoot: SHA256.digest(Array("root".utf8).span))
  }
}

extension SHA256Digest {
  static func of(_ text: String) -> SHA256Digest { SHA256.digest(Array(text.utf8).span) }
}

extension Store {
  /// A mark for a fresh challenge of this store, used by the bytes `use`.
  func freshMark(for key: KeyIdentifier, purpose: ChallengePurpose = .assert, use: String = "use") async throws -> ChallengeMark {
    let now = WallClock.unixSeconds
    guard let text = issueChallenge(purpose: purpose, boundTo: nil, timeToLive: 300, now: now) else { throw TestFailure.noChallenge }
    let opened = try await openChallenge(Array(text.utf8), purpose: purpose, key: key, now: now).get()
    guard let mark = opened.mark(for: key, fingerprint: .of(use)) else { throw TestFailure.noChallenge }
    return mark
  }

  func enrolment(
    _ key: EnrolledKey, attestation: String = "attestation", mark: ChallengeMark? = nil
  ) async throws -> Enrolment {
    let fresh = try await freshMark(for: key.identifier, purpose: .attest)
    return Enrolment(
      key: key, attestation: .of(attestation), receipt: [0, 13, 10, 255, 36], category: 4_294_967_295, bundleVersion: "1.2 ü",
      challenge: mark ?? fresh, enrolledAt: WallClock.unixSeconds)
  }

  func enrolledKey() async throws -> EnrolledKey {
    let key = TestKey.make()
    guard try await enroll(enrolment(key)) == .enrolled else { throw TestFailure.notEnrolled }
    return key
  }

  func commit(
    _ counter: UInt32, key: EnrolledKey, rule: CounterRule = .strict, mark: ChallengeMark? = nil
  ) async throws -> CommitOutcome {
    try await commit(Commit(key: key.identifier, counter: counter, rule: rule, challenge: mark, seenAt: WallClock.unixSeconds))
  }
}

enum TestFailure: Error { case noChallenge, notEnrolled }
