import Fixtures
import Foundation
import Glibc
import Testing

/// What the process is started with, and how it ends.
@Suite struct ProcessTests {
  private func withGate(
    before: [String] = [], environment: [String: String] = [:], _ body: (GateProcess) throws -> Void
  ) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), before: before, environment: environment)
    defer { gate.process.kill() }
    #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
    try body(gate)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
  }

  @Test func noSocketGetsTheNumberOfAStandardDescriptorThatWasClosed() throws {
    try withGate(before: ["sh", "-c", "exec \"$0\" \"$@\" <&- >&- 2>&-"]) { (gate) throws in
      let files = gate.process.openFiles
      for descriptor in 0...2 { #expect(files["\(descriptor)"] == "/dev/null") }
    }
  }

  @Test func socketsThatAreCountedButNotThereAreSaidAndNothingOfOursIsClosed() throws {
    // Descriptor 3 is a file, and none of the others is open.
    let command = "exec 3</dev/null; export LISTEN_PID=$$ LISTEN_FDS=1000; exec \"$0\" \"$@\""
    try withGate(before: ["sh", "-c", command]) { (gate) throws in
      #expect(gate.log.contains("the inherited descriptor 3 is no stream socket that listens"), "\(gate.log)")
      #expect(gate.log.contains("LISTEN_FDS counts 1000 sockets from descriptor 3 on, and 999 of those are not open"), "\(gate.log)")
      #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
    }
  }

  @Test(arguments: [1, 2]) func librariesAreNotTakenApartUnderThreadsThatUseThem(signals: Int) throws {
    let folder = try TemporaryFolder()
    let mayAnswer = Latch()
    let upstream = try ScriptedUpstream { exchange in
      if signals == 2 { mayAnswer.wait() }
      try exchange.answer("hello")
    }
    defer { upstream.stop() }
    defer { mayAnswer.open() }
    // The loader tells of each library that it takes apart.
    let loader = ["LD_DEBUG": "files", "LD_DEBUG_OUTPUT": folder.file("loader")]
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), environment: loader)
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send(ReloadTests.get)
    #expect(eventually { upstream.requests.count == 1 })
    gate.process.signal(SIGTERM)
    #expect(eventually { gate.log.contains("draining") })
    if signals == 2 { gate.process.signal(SIGTERM) }
    #expect(gate.process.wait() == .exited(signals == 2 ? 1 : 0))
    let told = folder.read("loader.\(gate.process.identifier)")
    #expect(told.contains("calling init"))
    #expect(!told.contains("calling fini"))
  }
}
