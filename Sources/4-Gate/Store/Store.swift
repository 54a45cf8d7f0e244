public import AppAttest
public import Cryptography
public import EventLoop

/// One worker's way to keys, counters and challenges. Every method runs on the caller's executor.
public protocol Store: AnyObject {
  /// The secrets and the run that challenges are sealed with: the last that were read, also while the store is away; nil before the
  /// first connection.
  var sealing: SealingSecrets? { get }

  /// Whether the store takes commands, since when, and what the operator should know.
  var health: StoreHealth { get }

  /// Keeps the way to the store open, and opens it again whenever it is lost, until ``stop()``. Started once by the worker, as a task.
  func run() async

  /// Ends ``run()``: commands in flight fail, later ones too.
  func stop()

  /// Called at the end of a command, with the nanoseconds since its call and whether it ended in a ``StoreFailure``: for metrics.
  var onCommand: ((StoreCommand, _ nanoseconds: UInt64, _ failed: Bool) -> Void)? { get set }

  /// Called when ``health`` changes: for the log and for readiness.
  var onHealthChange: ((StoreHealth) -> Void)? { get set }

  /// Reads the sealing secrets anew, at most once a second: a challenge named one that is not among ``sealing``.
  func refreshSealing() async

  /// Finds the one enrolled key among up to four identifiers, in one round trip.
  ///
  /// When `deadline` passes first the caller gives up with a ``StoreFailure``; the connection has its own time-out.
  func enrolledKey(among candidates: [KeyIdentifier], until deadline: Instant) async throws(StoreFailure) -> EnrolledKey?

  /// What is known of a key before its attestation is verified.
  func enrolmentState(of key: KeyIdentifier) async throws(StoreFailure) -> EnrolmentState

  /// Whether the challenge is marked used.
  func isUsed(_ challenge: SHA256Digest) async throws(StoreFailure) -> Bool

  /// The atomic step *enroll*. Never repeated by the store when its outcome is unknown.
  func enroll(_ enrolment: Enrolment) async throws(StoreFailure) -> EnrolmentOutcome

  /// The atomic step *commit*. Never repeated by the store when its outcome is unknown.
  ///
  /// When `deadline` passes first the caller gives up with a ``StoreFailure`` of unknown outcome.
  func commit(_ commit: Commit, until deadline: Instant) async throws(StoreFailure) -> CommitOutcome

  // For `attestgate keys`.

  /// About `limit` records from `cursor` on; 0 begins.
  func records(from cursor: UInt64, limit: Int) async throws(StoreFailure) -> KeyRecordPage

  /// All that is stored of one key.
  func record(of key: KeyIdentifier) async throws(StoreFailure) -> KeyRecord?

  /// Revokes or restores a key; false when there is none.
  func setActive(_ active: Bool, key: KeyIdentifier) async throws(StoreFailure) -> Bool
}

extension Store {
  /// ``enrolledKey(among:until:)`` for as long as the store itself waits.
  public func enrolledKey(among candidates: [KeyIdentifier]) async throws(StoreFailure) -> EnrolledKey? {
    try await enrolledKey(among: candidates, until: .never)
  }

  /// ``commit(_:until:)`` for as long as the store itself waits.
  public func commit(_ commit: Commit) async throws(StoreFailure) -> CommitOutcome {
    try await self.commit(commit, until: .never)
  }

  /// A challenge of ``ChallengeSeal/issue(purpose:boundTo:timeToLive:now:)``; nil before the store was ever reached.
  public func issueChallenge(purpose: ChallengePurpose, boundTo key: KeyIdentifier?, timeToLive: Int, now: Int) -> String? {
    sealing.map { ChallengeSeal($0).issue(purpose: purpose, boundTo: key, timeToLive: timeToLive, now: now) }
  }

  /// Opens a challenge, if nothing is wrong with it by what the store knows now; else ``openChallenge(_:purpose:key:now:)`` tells what is.
  public func openGoodChallenge(
    _ text: Span<UInt8>, purpose: ChallengePurpose, key: KeyIdentifier?, now: Int
  ) -> OpenedChallenge? {
    guard let sealing else { return nil }
    return try? ChallengeSeal(sealing).open(text, purpose: purpose, key: key, now: now).get()
  }

  /// Opens a challenge. When it names a secret that is not known, the secrets are read anew first: another gate may have made one.
  ///
  /// Throws when the challenge could be another run's and the store is away, so that nobody can tell.
  public func openChallenge(
    _ text: [UInt8], purpose: ChallengePurpose, key: KeyIdentifier?, now: Int
  ) async throws(StoreFailure) -> Result<OpenedChallenge, ChallengeRefusal> {
    guard let sealing else { throw StoreFailure(outcomeUnknown: false, reason: "the store was not reached yet") }
    let seal = ChallengeSeal(sealing)
    var result = seal.open(text.span, purpose: purpose, key: key, now: now)
    if case .failure(.unknown) = result, seal.namesUnknownSecret(text.span) {
      await refreshSealing()
      if let sealing = self.sealing { result = ChallengeSeal(sealing).open(text.span, purpose: purpose, key: key, now: now) }
    }
    if case .failure(.unknown) = result, !health.isUp, ChallengeSeal.isWellFormed(text.span) {
      throw StoreFailure(outcomeUnknown: false, reason: "the store is away, and the challenge may be of its next run")
    }
    return result
  }
}
