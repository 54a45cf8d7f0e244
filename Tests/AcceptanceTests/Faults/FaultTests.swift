import Fixtures
import Foundation
import Glibc
import Testing

/// Whatever breaks under load: no wrong answer, no request accepted twice, and everybody is served again within a second of its end.
@Suite(.serialized) struct FaultTests {
  private static let storeIsAway: Set = ["503 store_unavailable"]

  /// A copy of a request that was accepted. Where no challenge is signed, the counter alone tells.
  private static func sentTwice(_ errand: LoadClient.Errand) -> Set<String> {
    switch errand {
    case .open: []
    case .signed(.bodyOnly): ["401 counter_replayed"]
    default: ["409 assertion_already_accepted"]
    }
  }

  /// Challenges die with the run of Redis that they were made in.
  private static func challengesAreGone(_ errand: LoadClient.Errand) -> Set<String> {
    sentTwice(errand).union(isSigned(errand) && errand != .signed(.bodyOnly) ? ["401 challenge_unknown"] : [])
  }

  private static func keysAreGone(_ errand: LoadClient.Errand) -> Set<String> {
    challengesAreGone(errand).union(isSigned(errand) ? ["401 key_unknown", "401 assertion_unrecognised"] : [])
  }

  private static func isSigned(_ errand: LoadClient.Errand) -> Bool { errand != .open }

  private static func ifSigned(_ labels: Set<String>) -> (LoadClient.Errand) -> Set<String> { { isSigned($0) ? labels : [] } }

  // MARK: Redis

  @Test func redisIsKilledAndComesBackWithItsData() throws {
    try FaultStage.run(redis: .init(lines: ["appendonly yes", "appendfsync always"])) { stage in
      let load = try stage.load()
      let fault = try load.fault {
        stage.redis.kill()
      } meanwhile: {
        try $0.wait(for: "503 store_unavailable", count: 3, by: Self.isSigned)
      } mending: {
        try stage.redis.restart()
      }
      try load.finish(fault, allowed: Self.ifSigned(Self.storeIsAway), aftermath: Self.challengesAreGone)
      #expect(load.enrolmentCounts.max() == 1)
    }
  }

  @Test func redisIsKilledAndComesBackEmpty() throws {
    try FaultStage.run { stage in
      let load = try stage.load()
      let fault = try load.fault {
        stage.redis.kill()
      } meanwhile: {
        try $0.wait(for: "503 store_unavailable", count: 3, by: Self.isSigned)
      } mending: {
        try stage.redis.restartEmpty()
      }
      try load.finish(fault, allowed: Self.ifSigned(Self.storeIsAway), aftermath: Self.keysAreGone)
      #expect(load.enrolmentCounts == [2, 2, 2, 0, 0])
    }
  }

  @Test func redisStandsStillForFiveSeconds() throws {
    try FaultStage.run { stage in
      let load = try stage.load()
      let fault = try load.fault {
        stage.redis.pause()
      } meanwhile: {
        let end = monotonicMilliseconds() + 5_000
        try $0.wait(for: "503 store_unavailable", count: 3, by: Self.isSigned)
        try $0.wait(count: 100) { !Self.isSigned($0) }
        usleep(UInt32(max(0, end - monotonicMilliseconds())) * 1_000)
      } mending: {
        stage.redis.resume()
      }
      try load.finish(fault, allowed: Self.ifSigned(Self.storeIsAway), aftermath: Self.sentTwice)
      // Nobody waited for Redis: its time-out is a second, and the rest is for a busy machine.
      for outcome in load.account.outcomes { #expect(outcome.endedAt - outcome.startedAt < 4_000, "\(outcome)") }
      #expect(load.enrolmentCounts.max() == 1)
    }
  }

  // MARK: The upstream

  @Test func theUpstreamIsKilledAndComesBack() throws {
    try FaultStage.run { stage in
      let load = try stage.load()
      let fault = try load.fault {
        stage.killUpstream()
      } meanwhile: {
        try $0.wait(for: "502 upstream_unreachable", count: 3) { !Self.isSigned($0) }
        try $0.wait(for: "502 upstream_unreachable", count: 1, by: Self.isSigned)
      } mending: {
        try stage.startUpstream()
      }
      // An answer of which the beginning had gone out is cut.
      try load.finish(fault, allowed: { _ in ["502 upstream_unreachable", "cut"] }, aftermath: Self.sentTwice)
    }
  }

  @Test func aSlowUpstreamHoldsUpNobodyElse() throws {
    try FaultStage.run { stage in
      let load = try stage.load(FaultStage.errands + [.slow, .slow])
      let fault = try load.fault {
        $0 != .slow
      } breaking: {
      } meanwhile: {
        try $0.wait(for: "504 upstream_timeout", count: 3) { $0 == .slow }
        try $0.wait(count: 30) { $0 != .slow }
      } mending: {
      }
      let slow = load.account.outcomes.filter { $0.label == "504 upstream_timeout" }
      try load.finish(
        .init(start: slow.map(\.startedAt).min() ?? 0, end: fault.end), allowed: { $0 == .slow ? ["504 upstream_timeout"] : [] },
        aftermath: { $0 == .slow ? ["504 upstream_timeout", "409 assertion_already_accepted"] : [] })
      // While one waited, the others were answered.
      for client in Set(load.account.outcomes.map(\.client)) where client.errand != .slow {
        let meanwhile = load.account.outcomes.filter { one in
          one.client == client && one.isDone && slow.contains { $0.startedAt < one.startedAt && one.endedAt < $0.endedAt }
        }
        #expect(!meanwhile.isEmpty, "\(client)")
      }
    }
  }

  // MARK: The gate

  @Test func theGateIsKilledAndStartedAgain() throws {
    try FaultStage.run { stage in
      let load = try stage.load()
      let fault = try load.fault {
        stage.process.kill()
      } meanwhile: {
        try $0.wait(for: "cut", count: 3)
      } mending: {
        try stage.startGate()
      }
      // A gate that starts serves before its connections to Redis are made.
      try load.finish(
        fault, allowed: { Self.isSigned($0) ? ["cut", "503 store_unavailable"] : ["cut"] }, aftermath: Self.sentTwice)
      #expect(load.enrolmentCounts.max() == 1)
    }
  }

  @Test func theDiskIsFull() throws {
    try FaultStage.run { stage in
      let load = try stage.load(FaultStage.errands + [.large, .large])
      let fault = try load.fault {
        // No file may grow beyond 100 KiB: the kernel refuses the write, as it does when the disk is full.
        try stage.limit("--fsize=102400:")
      } meanwhile: {
        try $0.wait(for: "503 overloaded", count: 3) { $0 == .large }
        try $0.wait(count: 20) { $0 != .large }
      } mending: {
        try stage.limit("--fsize=unlimited:")
      }
      try load.finish(fault, allowed: { $0 == .large ? ["503 overloaded"] : [] }, aftermath: { _ in [] })
      #expect(load.enrolmentCounts.max() == 1)
    }
  }

  @Test func noDescriptorsAreLeft() throws {
    try FaultStage.run { stage in
      let load = try stage.load(FaultStage.errands + [.large])
      var late: [RawConnection] = []
      let fault = try load.fault {
        try stage.limit("--nofile=\(stage.process.openFileCount):")
        // Numbers below the limit that happen to be free are soon taken.
        late = try (0..<30).map { _ in try stage.gate.connect() }
        for (number, client) in late.enumerated() {
          try client.send("GET /open/open-late-\(number) HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
        }
      } meanwhile: { _ in
        usleep(1_500_000)
        #expect(late.contains { !$0.isReadable(withinMilliseconds: 0) })
      } mending: {
        try stage.limit("--nofile=1024:")
      }
      // Whoever came in the meantime has waited.
      for client in late { #expect(try [200, 503].contains(client.readAnswer().status)) }
      #expect(try stage.gate.metric("attestgate_accept_pauses_total", ["reason": "kernel"]) ?? 0 >= 1)
      try load.finish(fault, allowed: { _ in ["503 overloaded"] }, aftermath: Self.sentTwice)
    }
  }
}
