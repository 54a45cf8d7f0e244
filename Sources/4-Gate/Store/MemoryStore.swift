public import AppAttest
public import Cryptography
public import EventLoop

/// Keys, counters and used challenges of one process: shared by its workers, gone at exit. For trying and for tests (`store.memory`).
///
/// It judges as the scripts of the Redis store do.
public actor MemoryStore {
  /// A key and what changes about it.
  private struct Entry {
    var record: KeyRecord
    var window = CounterWindow()
  }

  private struct Mark {
    var expiresAt: Int
    var fingerprint: SHA256Digest
  }

  /// Marks that have expired and buckets that are full are dropped so often, when another is written.
  private static let sweepSeconds = 60

  /// One secret for the life of the process: it never leaves it.
  nonisolated let sealing: SealingSecrets

  private var entries: [KeyIdentifier: Entry] = [:]
  private var marks: [SHA256Digest: Mark] = [:]
  private var nextSweep = Int.min
  private var buckets: [BucketName: TokenBucket] = [:]
  private var nextBucketSweep = Instant(nanoseconds: 0)

  /// One key's bucket for one route.
  private struct BucketName: Hashable {
    var key: KeyIdentifier
    var scope: SHA256Digest
  }

  /// An empty store, with a run of its own.
  public init() {
    let secret = SealingSecrets.Secret(bytes: SecureRandom.bytes(SealingSecrets.secretByteCount), sealsFrom: .min)
    let runTag = SecureRandom.bytes(4).reduce(0) { $0 << 8 | UInt32($1) }
    sealing = SealingSecrets(secrets: [secret], runTag: runTag)
  }

  func enrolledKey(among candidates: [KeyIdentifier]) -> EnrolledKey? {
    for candidate in candidates {
      if let entry = entries[candidate] { return entry.record.key }
    }
    return nil
  }

  func record(of key: KeyIdentifier) -> KeyRecord? { entries[key]?.record }

  func isUsed(_ challenge: SHA256Digest, at now: Int) -> Bool {
    guard let mark = marks[challenge] else { return false }
    return mark.expiresAt > now
  }

  func enroll(_ enrolment: Enrolment) -> EnrolmentOutcome {
    if let entry = entries[enrolment.key.identifier] {
      guard entry.record.attestation == enrolment.attestation else { return .otherAttestation }
      return entry.record.isActive ? .enrolledBefore : .revoked
    }
    guard !isUsed(enrolment.challenge.challenge, at: enrolment.enrolledAt) else { return .challengeUsed }
    write(enrolment.challenge, at: enrolment.enrolledAt)
    entries[enrolment.key.identifier] = Entry(record: KeyRecord(enrolment))
    return .enrolled
  }

  func commit(_ commit: Commit) -> CommitOutcome {
    guard var entry = entries[commit.key] else { return .keyUnknown }
    guard entry.record.isActive else { return .keyRevoked }
    if let challenge = commit.challenge, let mark = marks[challenge.challenge], mark.expiresAt > commit.seenAt {
      return mark.fingerprint == challenge.fingerprint ? .alreadyAccepted : .challengeUsed
    }
    let previous = entry.window.highest
    switch entry.window.accept(commit.counter, rule: commit.rule) {
    case .repeated: return .counterRepeated
    case .outOfOrder: return .counterOutOfOrder
    case .accepted: break
    }
    if let rate = commit.rate, let wait = take(rate, of: commit.key) { return .rateLimited(milliseconds: Int(wait / 1_000_000) + 1) }
    if let challenge = commit.challenge { write(challenge, at: commit.seenAt) }
    entry.record.counter = entry.window.highest
    entry.record.seenAt = commit.seenAt
    entries[commit.key] = entry
    return .accepted(previousCounter: previous)
  }

  /// Takes one from a key's bucket, or says how many nanoseconds to wait.
  private func take(_ rate: KeyRate, of key: KeyIdentifier) -> UInt64? {
    let now = Instant.now
    if now >= nextBucketSweep {
      buckets = buckets.filter { $0.value.fullAt > now }
      nextBucketSweep = now.advanced(byMilliseconds: Self.sweepSeconds * 1_000)
    }
    return buckets[BucketName(key: key, scope: rate.scope), default: TokenBucket()].take(rate.rate, now: now)
  }

  func setActive(_ active: Bool, key: KeyIdentifier) -> Bool {
    guard entries[key] != nil else { return false }
    entries[key]?.record.isActive = active
    return true
  }

  /// Every record: there is no command that reads a memory store page by page, since no other process reaches it.
  func allRecords() -> [KeyRecord] { entries.values.map(\.record) }

  /// Number of marks that are kept, for the tests.
  var markCount: Int { marks.count }

  private func write(_ mark: ChallengeMark, at now: Int) {
    if now >= nextSweep {
      marks = marks.filter { $0.value.expiresAt > now }
      nextSweep = now + Self.sweepSeconds
    }
    marks[mark.challenge] = Mark(expiresAt: now + mark.lifetimeSeconds(at: now), fingerprint: mark.fingerprint)
  }
}

/// One worker's way to the memory store.
public final class MemoryStoreClient: Store {
  private let store: MemoryStore
  private let startedAt = Instant.now

  /// Called at the end of a command.
  public var onCommand: ((StoreCommand, _ nanoseconds: UInt64, _ failed: Bool) -> Void)?

  /// Never called: memory is always up.
  public var onHealthChange: ((StoreHealth) -> Void)?

  /// A way to `store`, for one worker.
  public init(_ store: MemoryStore) { self.store = store }

  /// Made with the store, never changed.
  public var sealing: SealingSecrets? { store.sealing }

  /// Always up.
  public var health: StoreHealth { StoreHealth(isUp: true, since: startedAt) }

  /// Nothing to keep open.
  public func run() async {}

  /// Nothing to close.
  public func stop() {}

  /// Nothing to read anew.
  public func refreshSealing() async {}

  /// The first of `candidates` that is enrolled. The deadline is of no use: memory answers at once.
  public func enrolledKey(among candidates: [KeyIdentifier], until deadline: Instant) async throws(StoreFailure) -> EnrolledKey? {
    let start = Instant.now
    let key = await store.enrolledKey(among: candidates)
    report(.lookUp, since: start)
    return key
  }

  /// What is known of a key.
  public func enrolmentState(of key: KeyIdentifier) async throws(StoreFailure) -> EnrolmentState {
    let start = Instant.now
    let record = await store.record(of: key)
    report(.enrolmentState, since: start)
    guard let record else { return .absent }
    return .present(attestation: record.attestation, active: record.isActive, key: record.key)
  }

  /// Whether the challenge is marked used.
  public func isUsed(_ challenge: SHA256Digest) async throws(StoreFailure) -> Bool {
    let start = Instant.now
    let used = await store.isUsed(challenge, at: WallClock.unixSeconds)
    report(.isUsed, since: start)
    return used
  }

  /// The atomic step *enroll*.
  public func enroll(_ enrolment: Enrolment) async throws(StoreFailure) -> EnrolmentOutcome {
    let start = Instant.now
    let outcome = await store.enroll(enrolment)
    report(.enroll, since: start)
    return outcome
  }

  /// The atomic step *commit*.
  public func commit(_ commit: Commit, until deadline: Instant) async throws(StoreFailure) -> CommitOutcome {
    let start = Instant.now
    let outcome = await store.commit(commit)
    report(.commit, since: start)
    return outcome
  }

  /// Every record, in one page.
  public func records(from cursor: UInt64, limit: Int) async throws(StoreFailure) -> KeyRecordPage {
    KeyRecordPage(records: await store.allRecords())
  }

  /// All that is stored of one key.
  public func record(of key: KeyIdentifier) async throws(StoreFailure) -> KeyRecord? { await store.record(of: key) }

  /// Revokes or restores a key; false when there is none.
  public func setActive(_ active: Bool, key: KeyIdentifier) async throws(StoreFailure) -> Bool {
    await store.setActive(active, key: key)
  }

  private func report(_ command: StoreCommand, since start: Instant) {
    onCommand?(command, Instant.now.nanoseconds - start.nanoseconds, false)
  }
}
