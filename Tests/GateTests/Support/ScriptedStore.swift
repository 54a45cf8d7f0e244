import AppAttest
import Cryptography
import EventLoop
import Store

/// The memory store, counting what it is asked, and failing or waiting when told to.
final class ScriptedStore: Store {
  let memory: MemoryStoreClient
  var lookUpFailure: StoreFailure?
  var commitFailure: StoreFailure?
  /// Runs in place of a commit's or a look-up's wait: moves the clock of the test.
  var beforeAnswer: (_ deadline: Instant) -> Void = { _ in }
  /// What happens between a request's look-up and its commit.
  var beforeCommit: () async -> Void = {}
  var isReached = true
  private(set) var lookUps: [[KeyIdentifier]] = []
  private(set) var commits: [Commit] = []
  private(set) var deadlines: [Instant] = []

  init(_ memory: MemoryStore = MemoryStore()) { self.memory = MemoryStoreClient(memory) }

  var sealing: SealingSecrets? { isReached ? memory.sealing : nil }
  var health: StoreHealth { memory.health }
  var onCommand: ((StoreCommand, UInt64, Bool) -> Void)?
  var onHealthChange: ((StoreHealth) -> Void)?
  func run() async {}
  func stop() {}
  func refreshSealing() async {}

  func enrolledKey(among candidates: [KeyIdentifier], until deadline: Instant) async throws(StoreFailure) -> EnrolledKey? {
    lookUps.append(candidates)
    deadlines.append(deadline)
    beforeAnswer(deadline)
    if let lookUpFailure { throw lookUpFailure }
    return try await memory.enrolledKey(among: candidates, until: deadline)
  }

  func commit(_ commit: Commit, until deadline: Instant) async throws(StoreFailure) -> CommitOutcome {
    commits.append(commit)
    deadlines.append(deadline)
    beforeAnswer(deadline)
    await beforeCommit()
    if let commitFailure { throw commitFailure }
    return try await memory.commit(commit, until: deadline)
  }

  func enrolmentState(of key: KeyIdentifier) async throws(StoreFailure) -> EnrolmentState {
    if let lookUpFailure { throw lookUpFailure }
    return try await memory.enrolmentState(of: key)
  }

  func isUsed(_ challenge: SHA256Digest) async throws(StoreFailure) -> Bool { try await memory.isUsed(challenge) }

  func enroll(_ enrolment: Enrolment) async throws(StoreFailure) -> EnrolmentOutcome {
    await beforeCommit()
    if let commitFailure { throw commitFailure }
    return try await memory.enroll(enrolment)
  }

  func records(from cursor: UInt64, limit: Int) async throws(StoreFailure) -> KeyRecordPage {
    try await memory.records(from: cursor, limit: limit)
  }

  func record(of key: KeyIdentifier) async throws(StoreFailure) -> KeyRecord? { try await memory.record(of: key) }

  func setActive(_ active: Bool, key: KeyIdentifier) async throws(StoreFailure) -> Bool { try await memory.setActive(active, key: key) }
}
