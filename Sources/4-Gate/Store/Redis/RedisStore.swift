public import AppAttest
import Bytes
public import Cryptography
public import EventLoop

/// One worker's way to keys, counters and challenges in Redis (store.md). Confined to its loop.
///
/// Every failure is a ``StoreFailure``; nothing is sent twice but a script that Redis said it did not know, and so did not run.
public final class RedisStore: Store {
  let client: RedisClient
  private let loop: EventLoop

  /// Called at the end of a command.
  public var onCommand: ((StoreCommand, _ nanoseconds: UInt64, _ failed: Bool) -> Void)?

  /// A store that is not connected before ``run()``.
  public init(settings: RedisSettings, loop: EventLoop, resolver: NameResolver) {
    self.loop = loop
    client = RedisClient(settings: settings, loop: loop, resolver: resolver)
  }

  /// The secrets and the run that were read last.
  public var sealing: SealingSecrets? { client.sealing }

  /// How this worker sees Redis.
  public var health: StoreHealth { client.health }

  /// Called when ``health`` changes.
  public var onHealthChange: ((StoreHealth) -> Void)? {
    get { client.onHealthChange }
    set { client.onHealthChange = newValue }
  }

  /// Connects, and connects again, until ``stop()``.
  public func run() async { await client.run() }

  /// Closes the connection.
  public func stop() { client.stop() }

  /// Reads the sealing secrets anew, at most once a second.
  public func refreshSealing() async {
    let start = Instant.now
    await client.refreshSealing()
    onCommand?(.secrets, Instant.now.nanoseconds - start.nanoseconds, false)
  }

  /// Finds the one enrolled key among the candidates: one HMGET each, in one write.
  public func enrolledKey(among candidates: [KeyIdentifier], until deadline: Instant) async throws(StoreFailure) -> EnrolledKey? {
    try await timed(.lookUp) { () async throws(StoreFailure) in
      let session = try client.session()
      var pending: [PendingReply] = []
      for candidate in candidates {
        pending.append(
          try session.connection.send { output in
            output.append(commandOf: 2 + RedisRecord.unchanging.count)
            output.append(word: "HMGET")
            output.append(keyOf: candidate, prefix: session.prefix)
            for field in RedisRecord.unchanging { output.append(word: field) }
          })
      }
      for (candidate, pending) in zip(candidates, pending) {
        let reply = try await pending.reply(on: loop, until: deadline)
        guard case .array(let values) = reply else { throw unexpected("HMGET", reply) }
        if values.allSatisfy({ $0 == .null }) { continue }
        guard let key = RedisRecord.enrolledKey(candidate, values[...]) else { throw damaged(candidate) }
        return key
      }
      return nil
    }
  }

  /// What is known of a key before its attestation is verified.
  public func enrolmentState(of key: KeyIdentifier) async throws(StoreFailure) -> EnrolmentState {
    try await timed(.enrolmentState) { () async throws(StoreFailure) in
      let session = try client.session()
      let pending = try session.connection.send { output in
        output.append(commandOf: 4 + RedisRecord.unchanging.count)
        output.append(word: "HMGET")
        output.append(keyOf: key, prefix: session.prefix)
        output.append(word: "att")
        output.append(word: "status")
        for field in RedisRecord.unchanging { output.append(word: field) }
      }
      let reply = try await pending.reply(on: loop, until: .never)
      guard case .array(let values) = reply, values.count == 2 + RedisRecord.unchanging.count else { throw unexpected("HMGET", reply) }
      if values.allSatisfy({ $0 == .null }) { return .absent }
      guard let attestation = RedisRecord.digest(values[0]), let status = values[1].text,
        let enrolled = RedisRecord.enrolledKey(key, values[2...])
      else { throw damaged(key) }
      return .present(attestation: attestation, active: status == "active", key: enrolled)
    }
  }

  /// Whether the challenge is marked used.
  public func isUsed(_ challenge: SHA256Digest) async throws(StoreFailure) -> Bool {
    try await timed(.isUsed) { () async throws(StoreFailure) in
      let session = try client.session()
      let pending = try session.connection.send { output in
        output.append(commandOf: 2)
        output.append(word: "EXISTS")
        output.append(markOf: challenge, prefix: session.prefix)
      }
      let reply = try await pending.reply(on: loop, until: .never)
      guard case .integer(let count) = reply else { throw unexpected("EXISTS", reply) }
      return count > 0
    }
  }

  /// The atomic step *enroll*.
  public func enroll(_ enrolment: Enrolment) async throws(StoreFailure) -> EnrolmentOutcome {
    try await timed(.enroll) { () async throws(StoreFailure) in
      let session = try client.session()
      try demand(enrolment.challenge.runTag, session)
      let fields = RedisRecord.fields(of: enrolment)
      let reply = try await run(.enroll, words: 6 + fields.count, on: session, until: .never) { output in
        output.append(word: 2)
        output.append(keyOf: enrolment.key.identifier, prefix: session.prefix)
        output.append(markOf: enrolment.challenge.challenge, prefix: session.prefix)
        output.append(word: enrolment.attestation)
        output.append(word: enrolment.challenge.fingerprint, first: ChallengeMark.fingerprintByteCount)
        output.append(word: enrolment.challenge.lifetimeSeconds(at: enrolment.enrolledAt))
        for field in fields { output.append(word: field) }
      }
      switch reply {
      case .integer(0): return .enrolled
      case .integer(1): return .enrolledBefore
      case .integer(2): return .revoked
      case .integer(3): return .otherAttestation
      case .integer(4): return .challengeUsed
      default: throw unexpected("enroll", reply)
      }
    }
  }

  /// The atomic step *commit*.
  public func commit(_ commit: Commit, until deadline: Instant) async throws(StoreFailure) -> CommitOutcome {
    try await timed(.commit) { () async throws(StoreFailure) in
      let session = try client.session()
      if let challenge = commit.challenge { try demand(challenge.runTag, session) }
      let keys = 1 + (commit.challenge == nil ? 0 : 1) + (commit.rate == nil ? 0 : 1)
      let arguments = commit.rate != nil ? 7 : commit.challenge != nil ? 5 : 3
      let reply = try await run(.commit, words: 1 + keys + arguments, on: session, until: deadline) { output in
        output.append(word: keys)
        output.append(keyOf: commit.key, prefix: session.prefix)
        if let challenge = commit.challenge { output.append(markOf: challenge.challenge, prefix: session.prefix) }
        if let rate = commit.rate { output.append(bucketOf: commit.key, scope: rate.scope, prefix: session.prefix) }
        Self.append(argumentsOf: commit, to: &output)
      }
      switch reply {
      case .integer(-1): return .keyUnknown
      case .integer(-2): return .keyRevoked
      case .integer(-3): return .challengeUsed
      case .integer(-4): return .alreadyAccepted
      case .integer(-5): return .counterRepeated
      case .integer(-6): return .counterOutOfOrder
      case .integer(let code) where code < -1_000: return .rateLimited(milliseconds: Int(clamping: -1_000 - code))
      case .integer(let previous):
        guard let previousCounter = UInt32(exactly: previous) else { throw unexpected("commit", reply) }
        return .accepted(previousCounter: previousCounter)
      default: throw unexpected("commit", reply)
      }
    }
  }
}

extension RedisStore {
  private static func append(argumentsOf commit: Commit, to output: inout ByteQueue) {
    output.append(word: Int(commit.counter))
    output.append(word: commit.rule.width)
    output.append(word: commit.seenAt)
    if let challenge = commit.challenge {
      output.append(word: challenge.fingerprint, first: ChallengeMark.fingerprintByteCount)
      output.append(word: challenge.lifetimeSeconds(at: commit.seenAt))
    } else if commit.rate != nil {
      output.append(word: "" as StaticString)
      output.append(word: "" as StaticString)
    }
    guard let rate = commit.rate else { return }
    output.append(word: rate.intervalMicroseconds)
    output.append(word: rate.rate.burst)
  }
}

// MARK: - For `attestgate keys`

extension RedisStore {
  /// About `limit` records: one SCAN, then HGETALL of each key in one write.
  public func records(from cursor: UInt64, limit: Int) async throws(StoreFailure) -> KeyRecordPage {
    try await timed(.administration) { () async throws(StoreFailure) in
      let session = try client.session()
      let scan = try session.connection.send { output in
        output.append(commandOf: 6)
        output.append(word: "SCAN")
        output.append(word: "\(cursor)")
        output.append(word: "MATCH")
        output.append(word: RedisRecord.pattern(prefix: session.prefix))
        output.append(word: "COUNT")
        output.append(word: max(1, min(limit, 1_000)))
      }
      let reply = try await scan.reply(on: loop, until: .never)
      guard case .array(let parts) = reply, parts.count == 2, let next = parts[0].text.flatMap({ UInt64($0) }),
        case .array(let keys) = parts[1]
      else { throw unexpected("SCAN", reply) }
      let identifiers = keys.compactMap { key -> KeyIdentifier? in
        guard case .bytes(let bytes) = key else { return nil }
        return RedisRecord.identifier(inKey: bytes, prefix: session.prefix)
      }
      var page = KeyRecordPage(records: [], next: next)
      for start in stride(from: 0, to: identifiers.count, by: Self.recordsInFlightMax) {
        let identifiers = identifiers[start..<min(start + Self.recordsInFlightMax, identifiers.count)]
        var pending: [PendingReply] = []
        for identifier in identifiers { pending.append(try askForAll(of: identifier, session)) }
        for (identifier, pending) in zip(identifiers, pending) {
          // A key may have gone since SCAN named it; another type under its name is as damaged as a missing field.
          switch try await pending.reply(on: loop, until: .never) {
          case .array(let pairs) where pairs.isEmpty: continue
          case .array(let pairs):
            if let record = RedisRecord.record(identifier, pairs) { page.records.append(record) } else { page.damaged.append(identifier) }
          case .error(let message) where message.hasPrefix("WRONGTYPE"): page.damaged.append(identifier)
          case let reply: throw unexpected("HGETALL", reply)
          }
        }
      }
      return page
    }
  }

  /// Receipts come with the records, and a reply waits in memory.
  private static var recordsInFlightMax: Int { 100 }

  /// All that is stored of one key.
  public func record(of key: KeyIdentifier) async throws(StoreFailure) -> KeyRecord? {
    try await timed(.administration) { () async throws(StoreFailure) in
      let reply = try await askForAll(of: key, client.session()).reply(on: loop, until: .never)
      guard case .array(let pairs) = reply else { throw unexpected("HGETALL", reply) }
      if pairs.isEmpty { return nil }
      guard let record = RedisRecord.record(key, pairs) else { throw damaged(key) }
      return record
    }
  }

  private func askForAll(of key: KeyIdentifier, _ session: RedisSession) throws(StoreFailure) -> PendingReply {
    try session.connection.send { output in
      output.append(commandOf: 2)
      output.append(word: "HGETALL")
      output.append(keyOf: key, prefix: session.prefix)
    }
  }

  /// Revokes or restores a key; false when there is none.
  public func setActive(_ active: Bool, key: KeyIdentifier) async throws(StoreFailure) -> Bool {
    try await timed(.administration) { () async throws(StoreFailure) in
      let session = try client.session()
      let reply = try await run(.setStatus, words: 3, on: session, until: .never) { output in
        output.append(word: 1)
        output.append(keyOf: key, prefix: session.prefix)
        output.append(word: active ? "active" : "revoked")
      }
      guard case .integer(let found) = reply else { throw unexpected("setStatus", reply) }
      return found == 1
    }
  }
}

// MARK: - Running scripts

extension RedisStore {
  /// Runs a script with `words` words after its name, written by `write`: by its digest, and once in full when Redis does not know it.
  private func run(
    _ script: RedisScripts.Name, words: Int, on session: RedisSession, until deadline: Instant, _ write: (inout ByteQueue) -> Void
  ) async throws(StoreFailure) -> RedisReply {
    let byDigest = try session.connection.send { output in
      output.append(commandOf: 2 + words)
      output.append(word: "EVALSHA")
      output.append(word: session.scriptDigests[script.rawValue])
      write(&output)
    }
    let reply = try await byDigest.reply(on: loop, until: deadline)
    guard let message = reply.errorMessage, message.hasPrefix("NOSCRIPT") else { return reply }
    // Redis did not run it (SCRIPT FLUSH), so asking again is safe; EVAL also loads it for all who come later.
    let inFull = try session.connection.send { output in
      output.append(commandOf: 2 + words)
      output.append(word: "EVAL")
      output.append(word: script.source)
      write(&output)
    }
    return try await inFull.reply(on: loop, until: deadline)
  }

  /// A challenge that was judged under one run of Redis must not be marked in the next, which may have forgotten that it was used.
  private func demand(_ runTag: UInt32, _ session: RedisSession) throws(StoreFailure) {
    guard runTag == session.facts.runTag else {
      throw StoreFailure(outcomeUnknown: false, reason: "Redis was restarted since the challenge was judged")
    }
  }

  private func unexpected(_ command: String, _ reply: RedisReply) -> StoreFailure {
    StoreFailure(outcomeUnknown: false, reason: "Redis answers \(command) with \(reply.errorMessage ?? "an unexpected reply")")
  }

  private func damaged(_ key: KeyIdentifier) -> StoreFailure {
    StoreFailure(outcomeUnknown: false, reason: "the record of key \(key.base64) is damaged")
  }

  private func timed<Value>(
    _ command: StoreCommand, _ body: () async throws(StoreFailure) -> Value
  ) async throws(StoreFailure) -> Value {
    let start = Instant.now
    do throws(StoreFailure) {
      let value = try await body()
      onCommand?(command, Instant.now.nanoseconds - start.nanoseconds, false)
      return value
    } catch {
      onCommand?(command, Instant.now.nanoseconds - start.nanoseconds, true)
      throw error
    }
  }
}
