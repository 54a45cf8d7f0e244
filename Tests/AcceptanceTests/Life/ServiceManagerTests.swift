import Fixtures
import Glibc
import Testing

/// What the gate tells systemd, and what it takes from it.
@Suite struct ServiceManagerTests {
  private func withGate(
    _ socket: String, _ environment: [String: String] = [:], _ body: (GateProcess, DatagramServer) throws -> Void
  ) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let manager = try DatagramServer(socket)
    let gate = try GateProcess(
      ReloadTests.configuration(upstream: upstream.port), environment: environment.merging(["NOTIFY_SOCKET": socket]) { $1 })
    defer { gate.process.kill() }
    try body(gate, manager)
  }

  @Test func aServiceManagerIsToldOfStartReloadAndEnd() throws {
    let folder = try TemporaryFolder()
    try withGate(folder.file("notify")) { gate, manager in
      let ready = try manager.receive()
      #expect(ready.contains("READY=1") && ready.contains("MAINPID=\(gate.process.identifier)"))
      #expect(ready.contains { $0.hasPrefix("STATUS=serves http://127.0.0.1:\(gate.port)") })
      try gate.reload()
      let reloading = try manager.receive()
      #expect(reloading.contains("RELOADING=1"))
      let time = try #require(reloading.first { $0.hasPrefix("MONOTONIC_USEC=") }.flatMap { Int($0.dropFirst(15)) })
      #expect(abs(time / 1_000 - monotonicMilliseconds()) < 60_000)
      #expect(try manager.receive().contains("READY=1"))
      #expect(gate.stop() == .exited(0))
      let stopping = try manager.receive()
      #expect(stopping.contains("STOPPING=1") && stopping.contains("EXTEND_TIMEOUT_USEC=10000000"))
    }
  }

  @Test func aReloadThatIsOvertakenByTheEndTellsNothingBehindIt() throws {
    let folder = try TemporaryFolder()
    let manager = try DatagramServer(folder.file("notify"))
    let mayAnswer = Latch()
    let upstream = try ScriptedUpstream { exchange in
      mayAnswer.wait()
      try exchange.answer("hello")
    }
    defer { upstream.stop() }
    defer { mayAnswer.open() }
    let before = ReloadTests.configuration(upstream: upstream.port).replacing("5s", with: "60s")
    let gate = try GateProcess(before, environment: ["NOTIFY_SOCKET": folder.file("notify")])
    defer { gate.process.kill() }
    #expect(try manager.receive().contains("READY=1"))
    let client = try gate.connect()
    try client.send(ReloadTests.get)
    #expect(eventually { upstream.requests.count == 1 })
    // A store that is not there is waited for.
    try gate.configure(
      ReloadTests.configuration(
        upstream: upstream.port, store: "{redis: {url: \"redis://127.0.0.1:\(try FreePort.next())/0\"}}"))
    gate.process.signal(SIGHUP)
    #expect(try manager.receive().contains("RELOADING=1"))
    gate.process.signal(SIGTERM)
    #expect(try manager.receive().contains("STOPPING=1"))
    #expect(try manager.count(withinMilliseconds: 3_000) == 0)
    mayAnswer.open()
    #expect(try client.readAnswer().text == "hello")
    #expect(gate.process.wait() == .exited(0))
  }

  @Test func anAbstractSocketIsToldToo() throws {
    try withGate("@attestgate-\(getpid())-\(monotonicMilliseconds())") { _, manager in
      let ready = try manager.receive()
      #expect(ready.contains("READY=1"))
    }
  }

  @Test func aSignOfLifeComesAgainAndAgain() throws {
    let folder = try TemporaryFolder()
    try withGate(folder.file("notify"), ["WATCHDOG_USEC": "200000"]) { _, manager in
      let ready = try manager.receive()
      #expect(ready.contains("READY=1"))
      for _ in 0..<3 {
        let sign = try manager.receive()
        #expect(sign == ["WATCHDOG=1"])
      }
    }
  }

  @Test func anotherProcessBecomesTheService() throws {
    let folder = try TemporaryFolder()
    try withGate(folder.file("notify")) { gate, manager in
      #expect(try manager.receive().contains("READY=1"))
      gate.process.signal(SIGUSR2)
      var lines: [String] = []
      while lines.count < 2 || !lines.contains("READY=1") { lines += try manager.receive() }
      let other = try #require(lines.compactMap { $0.hasPrefix("MAINPID=") ? pid_t($0.dropFirst(8)) : nil }.first)
      let successor = OtherProcess(other)
      defer { successor.kill() }
      #expect(other != gate.process.identifier)
      #expect(gate.process.wait() == .exited(0))
      // The service goes on, so nobody may be told that it stops.
      #expect(!lines.contains("STOPPING=1"))
    }
  }
}
