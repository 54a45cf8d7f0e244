import EventLoop
import Fixtures
import Testing

@testable import Store

/// Getting to Redis, and being kept out.
@Suite struct RedisConnectionTests {
  /// A user who may do what the gate needs and no more.
  private static let user = "user gate on >secret resetkeys ~attestgate:* resetchannels nocommands \(RedisHandshake.aclRules)"

  private func works(_ settings: RedisSettings) async throws -> Bool {
    try await TestLoop.withStore(settings) { worker, store in
      guard await worker.holds({ store.health.isUp }) else { return false }
      let key = try await store.enrolledKey()
      guard case .accepted = try await store.commit(1, key: key, mark: store.freshMark(for: key.identifier)) else { return false }
      guard try await store.setActive(false, key: key.identifier) else { return false }
      var cursor: UInt64 = 0
      var count = 0
      repeat {
        let page = try await store.records(from: cursor, limit: 100)
        count += page.records.count
        cursor = page.next
      } while cursor != 0
      return count == 1
    }
  }

  /// What the log says while this server cannot be used.
  private func failure(_ settings: RedisSettings) async throws -> String {
    try await TestLoop.withStore(settings) { worker, store in
      #expect(await worker.holds { store.health.lastFailure != nil })
      #expect(!store.health.isUp)
      let failure = await #expect(throws: StoreFailure.self) { try await store.enrolledKey(among: []) }
      #expect(failure?.outcomeUnknown == false)
      return store.health.lastFailure ?? ""
    }
  }

  @Test func aPasswordIsSent() async throws {
    let server = try RedisServer(.init(password: "s3cret"))
    #expect(try await works(RedisSettings(url: server.url)))
  }

  @Test func anACLUserNeedsNoMoreThanTheRulesThatAreTold() async throws {
    let server = try RedisServer(.init(lines: [Self.user]))
    #expect(try await works(RedisSettings(url: "redis://gate:secret@127.0.0.1:\(server.port)")))
  }

  @Test func aUnixSocketAndAnotherDatabaseAreReached() async throws {
    let server = try RedisServer()
    #expect(try await works(RedisSettings(url: "unix:\(server.socketPath)?db=3")))
    #expect(try server.command("DBSIZE") == .integer(0))
    let connection = try server.connect()
    try connection.command(["SELECT", "3"])
    guard case .integer(let count) = try connection.command(["DBSIZE"]) else { return }
    #expect(count >= 3)
  }

  @Test func aHostNameIsResolved() async throws {
    let server = try RedisServer()
    #expect(try await works(RedisSettings(url: "redis://localhost:\(server.port)")))
  }

  @Test func twoPrefixesAreTwoStores() async throws {
    let server = try RedisServer()
    for prefix in ["one:", "two*:", "attestgate:"] {
      var settings = server.settings
      settings.prefix = prefix
      #expect(try await works(settings))
    }
  }

  @Test func aWrongPasswordIsToldWithItsMend() async throws {
    let server = try RedisServer(.init(password: "s3cret"))
    var settings = server.settings
    settings.password = "guess"
    #expect(try await failure(settings).contains("store.redis.user, .password"))
    settings.password = nil
    #expect(try await failure(settings).contains("store.redis.password"))
    settings.password = "s3cret"
    settings.user = "nobody"
    #expect(try await failure(settings).contains("WRONGPASS"))
  }

  @Test(arguments: ["INFO", "TIME", "SCRIPT LOAD"])
  func aForbiddenCommandIsNamed(command: String) async throws {
    let word = command == "SCRIPT LOAD" ? "script|load" : command.lowercased()
    let server = try RedisServer(.init(lines: [Self.user.replacingOccurrences(of: "+\(word) ", with: "")]))
    let failure = try await failure(RedisSettings(url: "redis://gate:secret@127.0.0.1:\(server.port)"))
    #expect(failure.contains("forbids \(command) to user gate"))
    #expect(failure.contains("ACL SETUSER gate ~attestgate:* \(RedisHandshake.aclRules)"))
  }

  @Test func aDatabaseThatDoesNotExistIsTold() async throws {
    let server = try RedisServer()
    #expect(try await failure(RedisSettings(url: "unix:\(server.socketPath)?db=99")).contains("database 99"))
  }

  @Test func nobodyListeningIsTold() async throws {
    let server = try RedisServer()
    let settings = try RedisSettings(url: server.url)
    server.kill()
    #expect(try await failure(settings).contains("Connection refused"))
    #expect(try await failure(server.settings).contains("cannot be reached"))
    #expect(try await failure(RedisSettings(url: "redis://no-such-host.invalid")).contains("no such host"))
  }

  @Test func aReplicaIsNotUsed() async throws {
    let server = try RedisServer()
    try server.command("REPLICAOF", "127.0.0.1", "1")
    #expect(try await failure(server.settings).contains("replica"))
  }

  @Test(arguments: [
    (["maxmemory-policy allkeys-lru", "appendonly yes"], [StoreWarning.eviction(policy: "allkeys-lru")]),
    (["maxmemory-policy volatile-lru", "appendonly yes"], []),
    ([], [.notPersistent]),
    (["save 60 1"], []),
  ])
  func whatWillHurtLaterIsWarnedOf(lines: [String], warnings: [StoreWarning]) async throws {
    let server = try RedisServer(.init(lines: lines))
    let found = try await TestLoop.withStore(server.settings) { worker, store in
      #expect(await worker.holds { store.health.isUp })
      return store.health.warnings
    }
    #expect(found == warnings)
  }

  @Test(arguments: [(0, []), (2, []), (-2, []), (3, [StoreWarning.clockSkew(seconds: 3)]), (-60, [.clockSkew(seconds: -60)])])
  func aClockMoreThanTwoSecondsAwayIsWarnedOf(ahead: Int, warnings: [StoreWarning]) throws {
    let time = RedisReply.array([.bytes(Array("\(1_800_000_000 + ahead)".utf8)), .bytes(Array("0".utf8))])
    let facts = try #require(
      RedisServerFacts(info: "run_id:abc\r\nrole:master\r\n", time: time, save: nil, gateSeconds: 1_800_000_000))
    #expect(facts.warnings == warnings)
    #expect(facts.clockOffsetSeconds == ahead)
  }

  @Test func marksAndSecretsExpireAndKeysDoNot() async throws {
    let server = try RedisServer()
    let begin = ContinuousClock.now
    #expect(try await works(server.settings))
    guard case .array(let names) = try server.command("KEYS", "*") else { return }
    var kinds: Set<String> = []
    for name in names.compactMap(\.text) {
      guard case .integer(let seconds) = try server.command("TTL", name) else { return }
      // Seconds that a busy machine took since they were written.
      let passed = Int((ContinuousClock.now - begin).components.seconds) + 1
      switch name.split(separator: ":")[1] {
      case "key": #expect(seconds == -1)
      case "used": #expect((300 - passed...335).contains(seconds))
      default: #expect((900 - passed..<3 * 86_400).contains(seconds))
      }
      kinds.insert(String(name.split(separator: ":")[1]))
    }
    #expect(kinds == ["key", "used", "secret"])
  }

  @Test func twoGatesShareTheirSecrets() async throws {
    let server = try RedisServer()
    let settings = server.settings
    let sealings = try await withThrowingTaskGroup(of: SealingSecrets?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await TestLoop.withStore(settings) { worker, store in
            #expect(await worker.holds { store.health.isUp })
            return store.sealing
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sealings.first != .some(nil))
    #expect(Set(sealings.map { $0?.secrets.map(\.identifier) }).count == 1)
    #expect(Set(sealings.map { $0?.runTag }).count == 1)
  }

  @Test func secretsLiveAsLongAsTheChallengesThatTheySealed() throws {
    let noon = 20_000 * 86_400 + 43_200
    let schedule = SecretSchedule(unixSeconds: noon, challengeSecondsMax: 900)
    #expect(schedule.made == [20_000, 20_001])
    #expect(schedule.read == [19_999, 20_000, 20_001])
    #expect(schedule.lifetimeSeconds(of: 20_000) >= 43_200 + 900)
    #expect(SecretSchedule(unixSeconds: noon, challengeSecondsMax: 3 * 86_400).read.first == 19_997)
  }

  @Test func aSecretThatAnotherGateMadeIsReadOnDemand() async throws {
    let server = try RedisServer()
    try await TestLoop.withStore(server.settings) { worker, first in
      #expect(await worker.holds { first.health.isUp })
      // As if the secrets were lost: the next gate makes others, of which the first has not heard.
      let connection = try server.connect()
      for day in SecretSchedule(unixSeconds: WallClock.unixSeconds, challengeSecondsMax: 900).made {
        try connection.command(["DEL", "attestgate:secret:\(day)"])
      }
      let second = worker.open(server.settings)
      #expect(await worker.holds { second.health.isUp })
      let now = WallClock.unixSeconds
      let text = try #require(second.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: now))
      #expect(
        await worker.holds(within: 3) {
          (try? await first.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: now).get()) != nil
        })
      #expect(first.sealing == second.sealing)
    }
  }

  @Test func unknownSecretsAreReadAtMostOnceASecond() async throws {
    let server = try RedisServer()
    let foreign = ChallengeSeal(SealingSecrets(secrets: [.init(bytes: [1, 2, 3], sealsFrom: 0)], runTag: 0))
    try await TestLoop.withStore(server.settings) { worker, store in
      #expect(await worker.holds { store.health.isUp })
      let begin = Instant.now
      for _ in 0..<2_000 {
        let text = foreign.issue(purpose: .assert, boundTo: nil, timeToLive: 300, now: WallClock.unixSeconds)
        let result = try await store.openChallenge(Array(text.utf8), purpose: .assert, key: nil, now: WallClock.unixSeconds)
        #expect(result == .failure(.unknown))
      }
      let stats = try #require(try server.command("INFO", "commandstats").text)
      let line = try #require(stats.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_get:calls=") })
      let calls = try #require(Int(line.dropFirst("cmdstat_get:calls=".count).prefix { $0 != "," }))
      let seconds = Int((Instant.now.nanoseconds - begin.nanoseconds) / 1_000_000_000)
      #expect(calls <= 3 * (seconds + 3))
    }
  }
}
