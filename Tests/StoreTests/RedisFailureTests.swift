import AppAttest
import EventLoop
import Fixtures
import Testing

@testable import Store

/// Redis dies, stops, forgets, or talks nonsense: nothing is accepted twice, nothing hangs, and the store is back by itself.
@Suite struct RedisFailureTests {
  /// A store that is up, with one enrolled key.
  private func withEnrolledKey(
    _ server: RedisServer, settings: RedisSettings? = nil,
    _ body: @escaping @Sendable (isolated TestLoop, RedisStore, EnrolledKey) async throws -> Void
  ) async throws {
    try await TestLoop.withStore(settings ?? server.settings) { worker, store in
      #expect(await worker.holds { store.health.isUp })
      let key = try await store.enrolledKey()
      try await body(worker, store, key)
    }
  }

  @Test func afterARestartWithoutDataEveryOlderChallengeIsDead() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      let mark = try await store.freshMark(for: key.identifier)
      let now = WallClock.unixSeconds
      let text = try #require(store.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: now))
      let before = store.sealing
      #expect(try await store.commit(1, key: key, mark: mark) == .accepted(previousCounter: 0))
      server.kill()
      #expect(await worker.holds { !store.health.isUp })
      #expect(store.sealing == before)
      try server.restartEmpty()
      #expect(await worker.holds { store.health.isUp })
      #expect(store.sealing?.runTag != before?.runTag)
      #expect(store.sealing?.secrets != before?.secrets)
      #expect(try await store.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: now) == .failure(.unknown))
      // Judged before the restart, committed after it: the mark that was set is forgotten.
      #expect(try await store.enroll(store.enrolment(key)) == .enrolled)
      let failure = await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key, mark: mark) }
      #expect(failure?.outcomeUnknown == false)
    }
  }

  @Test func afterARestartWithOlderDataNothingIsReplayed() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      let snapshot = try server.snapshot()
      let mark = try await store.freshMark(for: key.identifier)
      let now = WallClock.unixSeconds
      let text = try #require(store.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: now))
      let run = store.sealing?.runTag
      #expect(try await store.commit(1, key: key, mark: mark) == .accepted(previousCounter: 0))
      try server.restart(with: snapshot)
      #expect(await worker.holds { store.health.isUp && store.sealing?.runTag != run })
      // The secrets were in the snapshot, the run is another.
      #expect(try await store.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: now) == .failure(.unknown))
      await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key, mark: mark) }
      #expect(try await store.commit(1, key: key, mark: store.freshMark(for: key.identifier)) == .accepted(previousCounter: 0))
    }
  }

  @Test func itIsBackWithinASecondOfRedis() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      server.kill()
      #expect(await worker.holds { !store.health.isUp })
      // Long enough for the longest pause between two attempts.
      await worker.loop.sleep(until: Instant.now.advanced(byMilliseconds: 3_000))
      try server.restart()
      #expect(await worker.holds(within: 1.5) { store.health.isUp })
    }
  }

  @Test func aStoppedRedisEndsInATimeoutAndRepliesNeverShift() async throws {
    let server = try RedisServer()
    var settings = server.settings
    settings.timeoutMilliseconds = 300
    try await withEnrolledKey(server, settings: settings) { worker, store, key in
      server.pause()
      let begin = Instant.now
      let failure = await #expect(throws: StoreFailure.self) { try await store.commit(5, key: key) }
      let waited = (Instant.now.nanoseconds - begin.nanoseconds) / 1_000_000
      #expect(failure?.outcomeUnknown == true)
      #expect((290..<5_000).contains(waited))
      let next = await #expect(throws: StoreFailure.self) { try await store.commit(6, key: key) }
      #expect(next?.outcomeUnknown == false)
      server.resume()
      #expect(await worker.holds { store.health.isUp })
      // The stopped commit was in the socket: Redis carries it out now. Its reply went to a connection that is closed.
      #expect(await worker.holds { (try? server.command("HGET", "attestgate:key:{\(key.storeName)}", "ctr").text) == "5" })
      let found = try await store.enrolledKey(among: [key.identifier])
      #expect(found == key)
      let repeated = try await store.commit(5, key: key)
      #expect(repeated == .counterRepeated)
      let accepted = try await store.commit(6, key: key)
      #expect(accepted == .accepted(previousCounter: 5))
    }
  }

  @Test func whoGivesUpEarlyDoesNotDisturbTheOthers() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      server.pause()
      let failure = await #expect(throws: StoreFailure.self) {
        try await store.commit(
          Commit(key: key.identifier, counter: 1, rule: .strict, challenge: nil, seenAt: WallClock.unixSeconds),
          until: Instant.now.advanced(byMilliseconds: 20))
      }
      #expect(failure?.outcomeUnknown == true)
      server.resume()
      #expect(store.health.isUp)
      let accepted = try await store.commit(2, key: key)
      #expect(accepted == .accepted(previousCounter: 1))
    }
  }

  @Test func aServerThatBecomesAReplicaIsLeft() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      try server.command("REPLICAOF", "127.0.0.1", "1")
      await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key) }
      #expect(await worker.holds { !store.health.isUp })
      try server.command("REPLICAOF", "NO", "ONE")
      #expect(await worker.holds { store.health.isUp })
      #expect(try await store.commit(1, key: key) == .accepted(previousCounter: 0))
    }
  }

  @Test func aFlushedScriptIsSentAgain() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { _, store, key in
      try server.command("SCRIPT", "FLUSH")
      #expect(try await store.commit(1, key: key, mark: store.freshMark(for: key.identifier)) == .accepted(previousCounter: 0))
      #expect(try await store.commit(2, key: key) == .accepted(previousCounter: 1))
      try server.command("SCRIPT", "FLUSH")
      #expect(try await store.enrolledKey().app == key.app)
      #expect(try await store.setActive(false, key: key.identifier))
    }
  }

  @Test func aFullRedisRefusesAndForgetsNothing() async throws {
    let server = try RedisServer(.init(lines: ["maxmemory-policy noeviction"]))
    try await withEnrolledKey(server) { worker, store, key in
      let mark = try await store.freshMark(for: key.identifier)
      try server.command("CONFIG", "SET", "maxmemory", "1")
      let failure = await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key, mark: mark) }
      #expect(failure?.reason.contains("OOM") == true)
      await #expect(throws: StoreFailure.self) { try await store.enrolledKey() }
      #expect(store.health.isUp)
      try server.command("CONFIG", "SET", "maxmemory", "0")
      #expect(try await store.commit(1, key: key, mark: mark) == .accepted(previousCounter: 0))
    }
  }

  @Test func anotherTypeUnderAKeyFailsClosed() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { _, store, key in
      let name = "attestgate:key:{\(key.storeName)}"
      try server.command("DEL", name)
      try server.command("SET", name, "text")
      await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key) }
      await #expect(throws: StoreFailure.self) { try await store.enrolledKey(among: [key.identifier]) }
      await #expect(throws: StoreFailure.self) { try await store.enrolmentState(of: key.identifier) }
      await #expect(throws: StoreFailure.self) { try await store.record(of: key.identifier) }
      await #expect(throws: StoreFailure.self) { try await store.enroll(store.enrolment(key)) }
      #expect(store.health.isUp)
    }
  }

  @Test(arguments: [("pub", "x"), ("env", "beta"), ("root", "x"), ("app", nil), ("pub", nil)] as [(String, String?)])
  func aRecordThatTheGateDidNotWriteIsNotTaken(field: String, value: String?) async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { _, store, key in
      let name = "attestgate:key:{\(key.storeName)}"
      if let value { try server.command("HSET", name, field, value) } else { try server.command("HDEL", name, field) }
      let failure = await #expect(throws: StoreFailure.self) { try await store.enrolledKey(among: [key.identifier]) }
      #expect(failure?.reason.contains("damaged") == true)
      await #expect(throws: StoreFailure.self) { try await store.record(of: key.identifier) }
    }
  }

  @Test func ofManyCopiesThroughTwoGatesOneIsAccepted() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      let mark = try await store.freshMark(for: key.identifier)
      let outcomes = try await withThrowingTaskGroup(of: [CommitOutcome].self) { group in
        for gate in 0..<2 {
          group.addTask {
            try await TestLoop.withStore(server.settings) { worker, store in
              #expect(await worker.holds { store.health.isUp })
              return try await worker.commitMany(32, of: key, mark: mark, counter: UInt32(gate + 1), through: store)
            }
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(outcomes.count == 64)
      #expect(outcomes.count { if case .accepted = $0 { true } else { false } } == 1)
      #expect(outcomes.count { $0 == .alreadyAccepted } == 63)
    }
  }

  @Test func commandsBeyondTheLimitFailAtOnce() async throws {
    let server = try RedisServer()
    var settings = server.settings
    settings.inFlightMax = 3
    try await withEnrolledKey(server, settings: settings) { worker, store, key in
      let outcomes = try await worker.outcomes(of: 8, of: key, through: store)
      #expect(outcomes.count { $0 == nil } == 3)
      #expect(outcomes.count { $0?.outcomeUnknown == false && $0?.reason.contains("3 commands") == true } == 5)
      #expect(store.health.isUp)
    }
  }

  @Test func stoppingFailsWhatIsInFlight() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      server.pause()
      let outcomes = try await worker.outcomes(of: 2, of: key, through: store) { store.stop() }
      #expect(outcomes.count { $0?.outcomeUnknown == true } == 2)
      let failure = await #expect(throws: StoreFailure.self) { try await store.commit(9, key: key) }
      #expect(failure?.outcomeUnknown == false)
      server.resume()
    }
  }

  @Test(arguments: [
    "!garbage\r\n", "\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", ":12x\r\n", ":99999999999999999999\r\n", "*2147483647\r\n",
    "*1000000000\r\n", "$-7\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    "$999999999999\r\n" + String(repeating: "a", count: 2 << 20), ":1\r\n:2\r\n", "$5\r\nabc", "*2\r\n:1\r\n",
    "-READONLY You can't write against a read only replica.\r\n", "-LOADING Redis is loading the dataset in memory\r\n",
  ])
  func nonsenseClosesTheConnectionAndTheStoreIsBack(reply: String) async throws {
    let server = try RedisServer()
    let proxy = try RedisProxy(to: server)
    defer { proxy.stop() }
    var settings = RedisSettings(endpoint: .unix(path: proxy.socketPath))
    settings.timeoutMilliseconds = 300
    try await withEnrolledKey(server, settings: settings) { worker, store, key in
      let connections = proxy.connectionCount
      proxy.replaceNextReply(with: Array(reply.utf8))
      // A number is what commit waits for: the surplus one shows that the order cannot be trusted any more.
      if reply.hasPrefix(":1\r\n") {
        _ = try await store.commit(1, key: key)
      } else {
        await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key) }
      }
      #expect(await worker.holds { proxy.connectionCount > connections && store.health.isUp })
      #expect(try await store.commit(1, key: key) == .counterRepeated)
    }
  }

  @Test(arguments: ["+OK\r\n", "$-1\r\n", "*0\r\n", ":-9\r\n", ":4294967296\r\n", "-ERR anything\r\n", "-BUSY Redis is busy\r\n"])
  func aReplyOfTheWrongKindIsAFailureOfThatCommandAlone(reply: String) async throws {
    let server = try RedisServer()
    let proxy = try RedisProxy(to: server)
    defer { proxy.stop() }
    try await withEnrolledKey(server, settings: RedisSettings(endpoint: .unix(path: proxy.socketPath))) { _, store, key in
      proxy.replaceNextReply(with: Array(reply.utf8))
      await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key) }
      #expect(store.health.isUp)
      #expect(proxy.connectionCount == 1)
      let repeated = try await store.commit(1, key: key)
      #expect(repeated == .counterRepeated)
    }
  }

  @Test func aFailureIsTimedAsOne() async throws {
    let server = try RedisServer()
    try await withEnrolledKey(server) { worker, store, key in
      server.kill()
      #expect(await worker.holds { !store.health.isUp })
      var failures: [StoreCommand] = []
      store.onCommand = { command, _, failed in if failed { failures.append(command) } }
      await #expect(throws: StoreFailure.self) { try await store.commit(1, key: key) }
      #expect(failures == [.commit])
    }
  }

  @Test func healthIsToldWhenItChanges() async throws {
    let server = try RedisServer(.init(lines: ["save 60 1"]))
    try await withEnrolledKey(server) { worker, store, key in
      var seen: [Bool] = []
      store.onHealthChange = { seen.append($0.isUp) }
      try server.restart()
      #expect(await worker.holds { seen.last == true })
      #expect(seen.first == false)
    }
  }
}

extension EnrolledKey {
  /// The identifier as it stands in a key of Redis.
  fileprivate var storeName: String {
    identifier.base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

extension TestLoop {
  /// Commits one assertion `count` times at once.
  func commitMany(
    _ count: Int, of key: EnrolledKey, mark: ChallengeMark, counter: UInt32, through store: RedisStore
  ) async throws -> [CommitOutcome] {
    kept = store
    let tasks = (0..<count).map { _ in
      Task(executorPreference: loop) { try await self.commitThroughKept(counter, key, mark) }
    }
    var outcomes: [CommitOutcome] = []
    for task in tasks { outcomes.append(try await task.value) }
    return outcomes
  }

  private func commitThroughKept(_ counter: UInt32, _ key: EnrolledKey, _ mark: ChallengeMark?) async throws -> CommitOutcome {
    try await kept!.commit(counter, key: key, mark: mark)
  }

  /// How `count` commits at once fail; nil for one that does not. `meanwhile` runs when all are written.
  func outcomes(
    of count: Int, of key: EnrolledKey, through store: RedisStore, meanwhile: (() -> Void)? = nil
  ) async throws -> [StoreFailure?] {
    kept = store
    let tasks = (0..<count).map { index in
      Task(executorPreference: loop) { () -> StoreFailure? in
        do {
          _ = try await self.commitThroughKept(UInt32(index + 1), key, nil)
          return nil
        } catch {
          return error as? StoreFailure
        }
      }
    }
    if let meanwhile {
      let areWritten = await holds {
        let connection = try? store.client.session().connection
        return connection?.inFlightCount == count && connection?.unwrittenByteCount == 0
      }
      #expect(areWritten)
      meanwhile()
    }
    var outcomes: [StoreFailure?] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }
}
