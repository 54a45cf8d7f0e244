import AppAttest
import Cryptography
import EventLoop
import Fixtures
import Testing

@testable import Store

/// What both stores must do alike.
@Suite struct StoreSemanticsTests {
  @Test(arguments: StoreKind.allCases)
  func anEnrolledKeyIsFoundAsItWasWritten(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = TestKey.make()
      #expect(try await store.enrolmentState(of: key.identifier) == .absent)
      #expect(try await store.enrolledKey(among: [key.identifier]) == nil)
      #expect(try await store.record(of: key.identifier) == nil)
      let enrolment = try await store.enrolment(key)
      #expect(try await store.enroll(enrolment) == .enrolled)
      #expect(try await store.enrolmentState(of: key.identifier) == .present(attestation: .of("attestation"), active: true, key: key))
      let others = (0..<3).map { _ in TestKey.make().identifier }
      #expect(try await store.enrolledKey(among: others + [key.identifier]) == key)
      #expect(try await store.enrolledKey(among: []) == nil)
      let record = try #require(try await store.record(of: key.identifier))
      #expect(
        record
          == KeyRecord(
            key: key, counter: 0, isActive: true, enrolledAt: enrolment.enrolledAt, seenAt: nil, attestation: .of("attestation"),
            receiptByteCount: 5, category: 4_294_967_295, bundleVersion: "1.2 ü"))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func enrollingAgainChangesNothing(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = TestKey.make()
      let first = try await store.enrolment(key)
      #expect(try await store.enroll(first) == .enrolled)
      #expect(try await store.commit(7, key: key) == .accepted(previousCounter: 0))
      #expect(try await store.enroll(first) == .enrolledBefore)
      #expect(try await store.enroll(store.enrolment(key)) == .enrolledBefore)
      #expect(try await store.enroll(store.enrolment(key, attestation: "another")) == .otherAttestation)
      #expect(try await store.record(of: key.identifier)?.counter == 7)
      #expect(try await store.setActive(false, key: key.identifier))
      #expect(try await store.enroll(first) == .revoked)
      #expect(try await store.enroll(store.enrolment(key, attestation: "another")) == .otherAttestation)
      #expect(try await store.record(of: key.identifier)?.isActive == false)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aChallengeEnrollsOneKey(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let (first, second) = (TestKey.make(), TestKey.make())
      let mark = try await store.freshMark(for: first.identifier, purpose: .attest)
      #expect(try await store.isUsed(mark.challenge) == false)
      #expect(try await store.enroll(store.enrolment(first, mark: mark)) == .enrolled)
      #expect(try await store.isUsed(mark.challenge))
      #expect(try await store.enroll(store.enrolment(second, mark: mark)) == .challengeUsed)
      #expect(try await store.enrolledKey(among: [second.identifier]) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aCommitUsesUpChallengeAndCounter(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      let mark = try await store.freshMark(for: key.identifier)
      #expect(try await store.commit(1, key: key, mark: mark) == .accepted(previousCounter: 0))
      #expect(try await store.commit(1, key: key, mark: mark) == .alreadyAccepted)
      let otherUse = ChallengeMark(
        challenge: mark.challenge, expiresAt: mark.expiresAt, runTag: mark.runTag, fingerprint: .of("other bytes"))
      #expect(try await store.commit(2, key: key, mark: otherUse) == .challengeUsed)
      #expect(try await store.commit(1, key: key, mark: store.freshMark(for: key.identifier)) == .counterRepeated)
      #expect(try await store.commit(2, key: key, mark: store.freshMark(for: key.identifier)) == .accepted(previousCounter: 1))
      let record = try #require(try await store.record(of: key.identifier))
      #expect(record.counter == 2)
      #expect(try #require(record.seenAt) >= record.enrolledAt)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aRefusedCommitConsumesNothing(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      #expect(try await store.commit(5, key: key) == .accepted(previousCounter: 0))
      let mark = try await store.freshMark(for: key.identifier)
      #expect(try await store.commit(4, key: key, mark: mark) == .counterOutOfOrder)
      #expect(try await store.commit(5, key: key, mark: mark) == .counterRepeated)
      #expect(try await store.setActive(false, key: key.identifier))
      #expect(try await store.commit(9, key: key, mark: mark) == .keyRevoked)
      #expect(try await store.setActive(true, key: key.identifier))
      #expect(try await store.commit(9, key: TestKey.make(), mark: mark) == .keyUnknown)
      #expect(try await store.isUsed(mark.challenge) == false)
      #expect(try await store.commit(6, key: key, mark: mark) == .accepted(previousCounter: 5))
      let used = try await store.freshMark(for: key.identifier)
      #expect(try await store.commit(8, key: key, mark: used) == .accepted(previousCounter: 6))
      #expect(try await store.commit(9, key: key, mark: used) == .alreadyAccepted)
      #expect(try await store.commit(9, key: key) == .accepted(previousCounter: 8))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func theFirstFailureIsTold(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      let mark = try await store.freshMark(for: key.identifier)
      #expect(try await store.commit(3, key: key, mark: mark) == .accepted(previousCounter: 0))
      // The counter is behind as well: the challenge is judged first, and the key before both.
      #expect(try await store.commit(1, key: key, mark: mark) == .alreadyAccepted)
      #expect(try await store.setActive(false, key: key.identifier))
      #expect(try await store.commit(1, key: key, mark: mark) == .keyRevoked)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func routesWithDifferentRulesShareOneCounter(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      #expect(try await store.commit(10, key: key) == .accepted(previousCounter: 0))
      #expect(try await store.commit(8, key: key) == .counterOutOfOrder)
      #expect(try await store.commit(8, key: key, rule: .window(2)) == .counterOutOfOrder)
      #expect(try await store.commit(8, key: key, rule: .window(3)) == .accepted(previousCounter: 10))
      #expect(try await store.commit(8, key: key, rule: .window(3)) == .counterRepeated)
      #expect(try await store.commit(10, key: key, rule: .window(3)) == .counterRepeated)
      #expect(try await store.commit(0, key: key, rule: .window(1_024)) == .counterOutOfOrder)
      #expect(try await store.record(of: key.identifier)?.counter == 10)
      #expect(try await store.commit(.max, key: key) == .accepted(previousCounter: 10))
      #expect(try await store.record(of: key.identifier)?.counter == .max)
      #expect(try await store.commit(.max - 1, key: key, rule: .window(64)) == .accepted(previousCounter: .max))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func recordsAreListedAndRevoked(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      var keys: Set<KeyIdentifier> = []
      for _ in 0..<30 { keys.insert(try await store.enrolledKey().identifier) }
      var listed: Set<KeyIdentifier> = []
      var cursor: UInt64 = 0
      repeat {
        let page = try await store.records(from: cursor, limit: 7)
        listed.formUnion(page.records.map(\.key.identifier))
        cursor = page.next
      } while cursor != 0
      #expect(listed == keys)
      #expect(try await store.setActive(false, key: TestKey.make().identifier) == false)
    }
  }

  @Test func everyCommandIsTimed() async throws {
    for kind in StoreKind.allCases {
      let names = try await kind.withStore { _, store in
        var names: [StoreCommand] = []
        store.onCommand = { command, nanoseconds, failed in
          names.append(command)
          #expect(nanoseconds > 0 && !failed)
        }
        let key = try await store.enrolledKey()
        _ = try await store.enrolledKey(among: [key.identifier])
        _ = try await store.enrolmentState(of: key.identifier)
        _ = try await store.isUsed(.of("x"))
        _ = try await store.commit(1, key: key)
        return names
      }
      #expect(names == [.enroll, .lookUp, .enrolmentState, .isUsed, .commit])
    }
  }
}

@Suite struct MemoryStoreTests {
  @Test func expiredMarksAreForgotten() async throws {
    let store = MemoryStore()
    let key = TestKey.make()
    let now = 1_800_000_000
    let mark = ChallengeMark(challenge: .of("0"), expiresAt: now + 300, runTag: 0, fingerprint: .of("use"))
    _ = await store.enroll(
      Enrolment(
        key: key, attestation: .of("a"), receipt: [], category: nil, bundleVersion: nil, challenge: mark, enrolledAt: now))
    for step in 1...5_000 {
      let time = now + step
      let mark = ChallengeMark(challenge: .of("\(step)"), expiresAt: time + 300, runTag: 0, fingerprint: .of("use"))
      let outcome = await store.commit(
        Commit(key: key.identifier, counter: UInt32(step), rule: .strict, challenge: mark, seenAt: time))
      #expect(outcome == .accepted(previousCounter: UInt32(step - 1)))
      let markCount = await store.markCount
      #expect(markCount <= 400)
    }
  }

  @Test func twoStoresAreTwoRuns() async throws {
    let (first, second) = (MemoryStoreClient(MemoryStore()), MemoryStoreClient(MemoryStore()))
    let text = try #require(first.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: 1_000_000))
    #expect(try await second.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: 1_000_000) == .failure(.unknown))
    let opened = try await first.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: 1_000_000).get()
    #expect(opened.expiresAt == 1_000_300)
  }
}
