import EventLoop
import Fixtures
import Testing

@testable import Store

@Suite struct KeyRateTests {
  private static let rate = KeyRate(Rate(1, per: .hour, burst: 2), route: "/v1/**")

  private func commit(_ counter: UInt32, _ key: EnrolledKey, _ rate: KeyRate?, mark: ChallengeMark? = nil) -> Commit {
    Commit(key: key.identifier, counter: counter, rule: .strict, challenge: mark, rate: rate, seenAt: WallClock.unixSeconds)
  }

  @Test(arguments: StoreKind.allCases, [true, false])
  func aKeyThatComesTooOftenIsToldWhenAndUsesNothingUp(kind: StoreKind, withChallenge: Bool) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      for counter in [UInt32(1), 2] {
        let mark = withChallenge ? try await store.freshMark(for: key.identifier) : nil
        #expect(try await store.commit(commit(counter, key, Self.rate, mark: mark)) == .accepted(previousCounter: counter - 1))
      }
      let mark = withChallenge ? try await store.freshMark(for: key.identifier) : nil
      let outcome = try await store.commit(commit(3, key, Self.rate, mark: mark))
      guard case .rateLimited(let milliseconds) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(3_500_000...3_600_001 ~= milliseconds)
      #expect(try await store.record(of: key.identifier)?.counter == 2)
      // The same step passes where the bucket is another one: neither challenge nor counter was used up.
      if let mark { #expect(try await store.isUsed(mark.challenge) == false) }
      let elsewhere = KeyRate(Self.rate.rate, route: "/v2/**")
      #expect(try await store.commit(commit(3, key, elsewhere, mark: mark)) == .accepted(previousCounter: 2))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aReplayIsAReplayHoweverOftenItComes(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      #expect(try await store.commit(commit(7, key, Self.rate)) == .accepted(previousCounter: 0))
      // What is refused for another reason takes nothing from the bucket.
      for _ in 0..<5 { #expect(try await store.commit(commit(7, key, Self.rate)) == .counterRepeated) }
      #expect(try await store.commit(commit(8, key, Self.rate)) == .accepted(previousCounter: 7))
      #expect(try await store.commit(commit(8, key, Self.rate)) == .counterRepeated)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aKeyGetsItsRateBack(kind: StoreKind) async throws {
    try await kind.withStore { _, store in
      let key = try await store.enrolledKey()
      let rate = KeyRate(Rate(100, per: .second, burst: 1), route: "/")
      var (accepted, limited) = (UInt32(0), 0)
      while accepted < 20 {
        switch try await store.commit(commit(accepted + 1, key, rate)) {
        case .accepted: accepted += 1
        case .rateLimited(let milliseconds):
          #expect(1...11 ~= milliseconds)
          limited += 1
        case let other:
          Issue.record("\(other)")
          return
        }
      }
      #expect(limited > 0)
    }
  }

  @Test func theBucketIsOneKeyAndGoesWhenItIsFull() async throws {
    let server = try RedisServer()
    try await TestLoop.withStore(server.settings) { worker, store in
      #expect(await worker.holds { store.health.isUp })
      let key = try await store.enrolledKey()
      let rate = KeyRate(Rate(1, per: .second, burst: 3), route: "/")
      #expect(try await store.commit(commit(1, key, rate)) == .accepted(previousCounter: 0))
      let connection = try server.connect()
      let keys = try connection.command(["KEYS", "*rate:{*"])
      guard case .array(let names) = keys, names.count == 1, let name = names.first?.text else {
        Issue.record("\(keys)")
        return
      }
      #expect(name.hasPrefix("attestgate:rate:{") && name.hasSuffix("}:" + name.suffix(12)))
      #expect(eventually { (try? connection.command(["EXISTS", name])) == .integer(0) })
    }
  }

  @Test func aBucketThatIsNoneIsAnErrorAndABucketFromAnotherClockIsBounded() throws {
    let server = try RedisServer()
    let connection = try server.connect()
    try connection.command(["HSET", "k", "status", "active", "ctr", "0"])
    let words = ["EVAL", RedisScripts.commit.description, "2", "k", "b"]
    try connection.command(["SET", "b", "text"])
    try connection.send((words + ["1", "0", "1800000000", "", "", "1000", "2"]).map { Array($0.utf8) })
    guard case .error = try connection.reply() else {
      Issue.record("accepted")
      return
    }
    #expect(try connection.command(["HGET", "k", "ctr"]).text == "0")
    // A day ahead: a clock that was set back must not lock the key out for a day.
    let time = try connection.command(["TIME"])
    guard case .array(let parts) = time, let seconds = parts[0].text.flatMap({ Int($0) }) else { return }
    try connection.command(["SET", "b", "\((seconds + 86_400) * 1_000_000)"])
    guard case .integer(let code) = try connection.command(words + ["1", "0", "1800000000", "", "", "1000000", "2"]) else {
      Issue.record("no number")
      return
    }
    #expect(code == -2_000)
  }
}
