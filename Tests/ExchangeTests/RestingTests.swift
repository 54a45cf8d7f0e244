import EventLoop
import Fixtures
import Testing

@testable import Exchange

/// Connections that wait for their next request without a task.
@Suite struct RestingTests {
  private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  /// Waits until so many connections rest.
  private func rests(_ count: Int, _ gate: TestGate) async -> Bool {
    let deadline = Instant.now.advanced(byMilliseconds: 10_000)
    while await gate.worker.restingCount() != count {
      guard Instant.now < deadline else { return false }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return true
  }

  @Test func aConnectionThatRestsServesItsNextRequest() async throws {
    try await TestGate.run { gate, _ in
      let client = try gate.connect()
      for _ in 0..<3 {
        #expect(try client.exchange(Self.request).text == "hello")
        #expect(await rests(1, gate))
      }
      #expect(gate.metric("attestgate_connections") == 1)
    }
  }

  @Test func aHeadThatComesInPiecesToARestingConnectionIsRead() async throws {
    try await TestGate.run { gate, _ in
      let client = try gate.connect()
      #expect(await rests(1, gate))
      try client.send("GET / HT")
      #expect(await rests(0, gate))
      try client.send("TP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.readAnswer().text == "hello")
    }
  }

  @Test func theRequestsOfAConnectionAreCountedAcrossItsRests() async throws {
    try await TestGate.run({ $0.listeners[0].requestsPerConnectionMax = 2 }) { gate, _ in
      let client = try gate.connect()
      #expect(try client.exchange(Self.request).value("Connection") == nil)
      #expect(await rests(1, gate))
      #expect(try client.exchange(Self.request).value("Connection") == "close")
      #expect(try client.endsNow())
    }
  }

  @Test func aClientThatLeavesARestingConnectionLeavesNothingBehind() async throws {
    try await TestGate.run { gate, _ in
      let client = try gate.connect()
      #expect(await rests(1, gate))
      client.close()
      #expect(gate.counts(0, "attestgate_connections"))
      #expect(await gate.worker.connectionCount() == 0)
    }
  }

  @Test func aRestingConnectionEndsWithItsIdleTime() async throws {
    try await TestGate.run({ $0.listeners[0].idleTimeoutMilliseconds = 300 }) { gate, _ in
      let client = try gate.connect()
      #expect(try client.readToEnd().isEmpty)
      #expect(gate.counts(1, "attestgate_timeouts_total", ["kind": "idle"]))
    }
  }

  @Test func aRestingConnectionEndsWithItsWorker() async throws {
    try await TestGate.run { gate, _ in
      let client = try gate.connect()
      #expect(await rests(1, gate))
      await gate.worker.stopAccepting()
      await gate.worker.drain(until: Instant.now.advanced(byMilliseconds: 10_000))
      #expect(try client.endsNow())
    }
  }
}
