import Fixtures
import Testing

@testable import Store

@Suite struct CommitScriptTests {
  /// Runs the script on a key record `k` without a challenge.
  private struct Record {
    let connection: RedisTestConnection
    let digest: String

    init(_ server: RedisServer, highest: String = "0") throws {
      connection = try server.connect()
      digest = try #require(try connection.command(["SCRIPT", "LOAD", RedisScripts.commit.description]).text)
      try connection.command(["HSET", "k", "status", "active", "ctr", highest])
    }

    func send(_ counter: UInt32, _ rule: CounterRule) throws {
      try connection.send(["EVALSHA", digest, "1", "k", "\(counter)", "\(rule.width)", "1800000000"].map { Array($0.utf8) })
    }
  }

  private func judgement(_ reply: RedisValue) -> CounterWindow.Judgement? {
    guard case .integer(let code) = reply else { return nil }
    switch code {
    case -5: return .repeated
    case -6: return .outOfOrder
    case 0...: return .accepted
    default: return nil
    }
  }

  @Test(arguments: [0, 1, 1_000, 1_031, 2_000_000_000, UInt32.max - 30_000])
  func theScriptJudgesAsTheMemoryStoreAndAsASet(start: UInt32) throws {
    let server = try RedisServer()
    let record = try Record(server)
    var window = CounterWindow()
    var naive = NaiveCounters()
    var sequence = CounterSequence(random: SeededRandom(state: UInt64(start) &+ 77), start: start)
    for _ in 0..<60 {
      // The sequence follows what the set accepts, so a round can be sent before its replies are read.
      let steps = (0..<100).map { _ in
        let (counter, rule) = sequence.next(highest: naive.highest)
        return (counter, rule, highest: naive.highest, expected: naive.accept(counter, rule: rule))
      }
      for step in steps { try record.send(step.0, step.1) }
      for (counter, rule, highest, expected) in steps {
        let reply = try record.connection.reply()
        let judged = window.accept(counter, rule: rule)
        guard judgement(reply) == expected, judged == expected else {
          Issue.record("\(counter) under \(rule) with \(highest): script \(reply), memory \(judged), set \(expected)")
          return
        }
        if expected == .accepted { #expect(reply == .integer(Int(highest))) }
      }
      #expect(try record.connection.command(["HGET", "k", "win"]) == .bytes(window.bitmap))
      #expect(try record.connection.command(["HGET", "k", "ctr"]).text == "\(window.highest)")
    }
  }

  @Test(arguments: [
    ["HSET", "k", "win", "short"], ["HSET", "k", "ctr", "many"], ["HDEL", "k", "ctr"], ["HDEL", "k", "status"], ["SET", "k", "text"],
  ])
  func aDamagedRecordIsAnErrorAndStaysAsItIs(damage: [String]) throws {
    let server = try RedisServer()
    let record = try Record(server)
    try record.connection.command(damage)
    let before = try record.connection.command(["DUMP", "k"])
    try record.send(5, .strict)
    guard case .error = try record.connection.reply() else {
      Issue.record("accepted")
      return
    }
    #expect(try record.connection.command(["DUMP", "k"]) == before)
  }

  @Test func aKeyThatIsNoRecordIsNeverEnrolledOver() throws {
    let server = try RedisServer()
    let connection = try server.connect()
    try connection.command(["HSET", "k", "note", "by hand"])
    let reply = try connection.command(["EVAL", RedisScripts.enroll.description, "2", "k", "m", "att", "fp", "300", "status", "active"])
    #expect(reply == .integer(3))
    #expect(try connection.command(["EXISTS", "m"]) == .integer(0))
    #expect(try connection.command(["HGET", "k", "status"]) == .null)
  }
}
