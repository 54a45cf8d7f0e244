import Fixtures
import Foundation
import Glibc
import Testing

/// SIGUSR2: another process of the same program takes the sockets over.
@Suite struct HandOverTests {
  private func withGate(
    _ listener: [String] = [], workers: Int = 2, _ body: (GateProcess, ScriptedUpstream) throws -> Void
  ) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), listener: listener, workers: workers)
    defer { gate.process.kill() }
    try body(gate, upstream)
  }

  /// The process that took over, once it has.
  private func successor(of gate: GateProcess) throws -> OtherProcess {
    #expect(gate.process.wait(milliseconds: 30_000) == .exited(0), "\(gate.log)")
    return try OtherProcess(successorOf: gate)
  }

  @Test func noConnectionIsRefusedOrResetWhileAnotherProcessTakesOver() throws {
    try withGate { gate, _ in
      let load = Load(port: gate.port)
      #expect(load.goesOn())
      gate.process.signal(SIGUSR2)
      let first = try successor(of: gate)
      defer { first.kill() }
      #expect(load.goesOn())
      // And once more, from a process that took over itself.
      first.signal(SIGUSR2)
      #expect(eventually(within: 30_000) { !first.isRunning })
      #expect(load.goesOn())
      #expect(load.end() == [])
      let last = try OtherProcess(successorOf: gate)
      defer { last.kill() }
      #expect(last.identifier != first.identifier)
      #expect(try gate.admin("/readyz").status == 200)
      last.signal(SIGTERM)
      #expect(eventually(within: 30_000) { !last.isRunning })
    }
  }

  @Test func aProcessThatCannotServeChangesNothing() throws {
    try withGate { gate, upstream in
      let load = Load(port: gate.port, keeping: 1, connecting: 1)
      try gate.configure(ReloadTests.configuration(upstream: upstream.port, routes: "- {path: nowhere, upstream: ai, gate: off}"))
      gate.process.signal(SIGUSR2)
      #expect(eventually(within: 30_000) { gate.log.contains("this one goes on serving") }, "\(gate.log)")
      #expect(gate.log.contains("routes[0].path"))
      #expect(load.goesOn())
      #expect(load.end() == [])
      #expect(try gate.admin("/readyz").status == 200)
      // The broken one is not in the way of the next.
      try gate.configure(ReloadTests.configuration(upstream: upstream.port))
      gate.process.signal(SIGUSR2)
      try successor(of: gate).kill()
    }
  }

  @Test func whatHasBegunIsEndedByTheProcessThatBeganIt() throws {
    let mayAnswer = Latch()
    let upstream = try ScriptedUpstream(ScriptedUpstream.holdingSlow(until: mayAnswer))
    defer { upstream.stop() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port))
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(eventually { upstream.requests.count == 1 })
    gate.process.signal(SIGUSR2)
    #expect(eventually(within: 30_000) { gate.log.contains("has taken over") })
    #expect(gate.process.isRunning)
    // A service manager can wait for its own children alone.
    let next = try OtherProcess(successorOf: gate)
    #expect(next.parent != nil && next.parent != gate.process.identifier)
    #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
    mayAnswer.open()
    let answer = try client.readAnswer()
    #expect(answer.text == "hello" && answer.value("Connection") == "close")
    #expect(gate.process.wait(milliseconds: 30_000) == .exited(0), "\(gate.log)")
    next.kill()
  }

  /// A command that becomes the gate under another program's name: that one is started to take over.
  private func named(_ program: String) -> [String] {
    ["perl", "-e", "my $name = shift; my $program = shift; exec { $program } $name, @ARGV", program]
  }

  @Test(
    arguments: [
      (nil, 0, "cannot be started (No such file or directory)"), ("exit", 0o644, "cannot be started (Permission denied)"),
      ("no program", 0o755, "cannot be started (Exec format error)"), ("#!/bin/sh\nexit 3\n", 0o755, "it ended before it served"),
    ] as [(String?, Int, String)])
  func aProgramThatDoesNotRunIsSaidToBeSo(text: String?, mode: Int, complaint: String) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let folder = try TemporaryFolder()
    if let text {
      let file = try folder.write(text, to: "program")
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), before: named(folder.file("program")))
    defer { gate.process.kill() }
    gate.process.signal(SIGUSR2)
    #expect(eventually(within: 30_000) { gate.log.contains(complaint) }, "\(gate.log)")
    #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
    #expect(gate.stop() == .exited(0))
  }

  @Test func aProgramThatHangsEndsWithTheGateThatStartedIt() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let folder = try TemporaryFolder()
    let file = try folder.write(
      "#!/bin/sh\ntrap '' TERM\necho $$ > \(folder.file("number"))\nwhile :; do sleep 0.1; done\n", to: "program")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), before: named(file))
    defer { gate.process.kill() }
    gate.process.signal(SIGUSR2)
    #expect(eventually(within: 30_000) { folder.read("number").hasSuffix("\n") })
    let hanging = OtherProcess(try #require(pid_t(folder.read("number").dropLast())))
    #expect(hanging.isRunning)
    #expect(gate.stop() == .exited(0))
    #expect(eventually { !hanging.isRunning })
  }

  /// A gate that has handed over and still answers one request, until `body` has ended.
  private func whileDraining(
    _ environment: [String: String] = [:], then configuration: (UInt16) -> String = { ReloadTests.configuration(upstream: $0) },
    _ body: (GateProcess, OtherProcess, ScriptedUpstream) throws -> Void
  ) throws {
    let mayAnswer = Latch()
    let upstream = try ScriptedUpstream(ScriptedUpstream.holdingSlow(until: mayAnswer))
    defer { upstream.stop() }
    defer { mayAnswer.open() }
    let first = ReloadTests.configuration(upstream: upstream.port).replacing("5s", with: "60s")
    let gate = try GateProcess(first, environment: environment)
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(eventually { upstream.requests.count == 1 })
    try gate.configure(configuration(upstream.port))
    gate.process.signal(SIGUSR2)
    #expect(eventually(within: 30_000) { gate.log.contains("has taken over") })
    let next = try OtherProcess(successorOf: gate)
    defer { next.kill() }
    try body(gate, next, upstream)
    #expect(gate.process.isRunning)
    mayAnswer.open()
    #expect(try client.readAnswer().text == "hello")
    #expect(gate.process.wait(milliseconds: 30_000) == .exited(0))
  }

  @Test func aReloadThatIsAskedOfAProcessThatHandsOverIsDoneByWhoTookOver() throws {
    try whileDraining { gate, next, upstream in
      let other = "- {path: /other, upstream: api, gate: off}"
      try gate.configure(ReloadTests.configuration(upstream: upstream.port, routes: other))
      gate.process.signal(SIGHUP)
      #expect(eventually { (try? exchange(port: gate.port, ReloadTests.get).status) == 404 })
      #expect(next.isRunning)
    }
  }

  @Test func whoConnectsIsRefusedAtOnceWhenTheProcessThatTookOverEndsBeforeTheFormerOne() throws {
    try whileDraining { gate, next, _ in
      next.kill()
      #expect(eventually { !next.isRunning })
      #expect(eventually { (try? gate.connect()) == nil && (try? RawConnection(port: gate.adminPort)) == nil })
    }
  }

  @Test func theServiceManagerIsNotToldThatTheServiceStopsWhenTheFormerProcessIsAskedTo() throws {
    let folder = try TemporaryFolder()
    let manager = try DatagramServer(folder.file("notify"))
    try whileDraining(["NOTIFY_SOCKET": folder.file("notify")]) { gate, next, _ in
      gate.process.signal(SIGTERM)
      // What the next process says to it comes behind what the former one may have said.
      next.signal(SIGHUP)
      var lines: [String] = []
      while !lines.contains("RELOADING=1") { lines += try manager.receive() }
      #expect(!lines.contains("STOPPING=1"))
    }
  }

  @Test func whereTheNextProcessDoesNotListenNobodyIsKeptWaiting() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("gate.sock")
    let mayAnswer = Latch()
    let upstream = try ScriptedUpstream(ScriptedUpstream.holdingSlow(until: mayAnswer))
    defer { upstream.stop() }
    defer { mayAnswer.open() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port).replacing("5s", with: "60s"))
    defer { gate.process.kill() }
    let before = gate.folder.read("proxy.yaml")
    let (port, unixPath) = (try FreePort.next(), "unix:\(path)")
    let more = "listeners:\n  - bind: \"127.0.0.1:\(port)\"\n  - bind: \"\(unixPath)\"\n"
    try gate.folder.write(before.replacing("listeners:\n", with: more), to: "proxy.yaml")
    try gate.reload()
    #expect(try exchange(port: port, ReloadTests.get).text == "hello")
    let client = try gate.connect()
    try client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    #expect(eventually { upstream.requests.count == 2 })
    try gate.folder.write(before, to: "proxy.yaml")
    gate.process.signal(SIGUSR2)
    #expect(eventually(within: 30_000) { gate.log.contains("has taken over") })
    let next = try OtherProcess(successorOf: gate)
    defer { next.kill() }
    #expect(eventually { (try? RawConnection(port: port)) == nil && !FileManager.default.fileExists(atPath: path) })
    #expect(gate.process.isRunning)
    #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
  }

  @Test func theFileOfAUnixSocketStaysForWhoTookItOver() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("gate.sock")
    try withGate { gate, upstream in
      try gate.configure(ReloadTests.configuration(upstream: upstream.port))
      try gate.folder.write(
        gate.folder.read("proxy.yaml").replacing("listeners:\n", with: "listeners:\n  - bind: \"unix:\(path)\"\n"), to: "proxy.yaml")
      try gate.reload()
      #expect(try RawConnection(unixPath: path).exchange(ReloadTests.get).text == "hello")
      // One that cannot serve leaves it alone.
      let good = gate.folder.read("proxy.yaml")
      let bad = good.replacing("drain_timeout:", with: "  - bind: \"127.0.0.1:\(upstream.port)\"\ndrain_timeout:")
      try gate.folder.write(bad, to: "proxy.yaml")
      gate.process.signal(SIGUSR2)
      #expect(eventually(within: 30_000) { gate.log.contains("this one goes on serving") }, "\(gate.log)")
      #expect(try RawConnection(unixPath: path).exchange(ReloadTests.get).text == "hello")
      try gate.folder.write(good, to: "proxy.yaml")
      gate.process.signal(SIGUSR2)
      let next = try successor(of: gate)
      defer { next.kill() }
      #expect(try RawConnection(unixPath: path).exchange(ReloadTests.get).text == "hello")
      next.signal(SIGTERM)
      #expect(eventually(within: 30_000) { !next.isRunning })
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  /// A command that opens a socket as a service manager does, and becomes the gate.
  fileprivate static let activation = [
    "perl", "-MSocket", "-MPOSIX", "-e",
    """
    $^F = 9; my $port = shift;
    socket(S, PF_INET, SOCK_STREAM, 0) and setsockopt(S, SOL_SOCKET, SO_REUSEADDR, 1) or die;
    bind(S, pack_sockaddr_in($port, INADDR_LOOPBACK)) and listen(S, 64) or die;
    socket(T, PF_INET, SOCK_STREAM, 0) and bind(T, pack_sockaddr_in(0, INADDR_LOOPBACK)) and listen(T, 1) or die;
    POSIX::dup2(fileno(S), 3); POSIX::dup2(fileno(T), 4);
    $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDS} = 2; $ENV{LISTEN_FDNAMES} = "gate.socket:other.socket"; exec @ARGV;
    """, "PORT",
  ]

  @Test func aSocketOfAServiceManagerIsUsedAndOutlivesTheGate() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let gate = try GateProcess(ReloadTests.configuration(upstream: upstream.port), before: Self.activation)
    defer { gate.process.kill() }
    #expect(try exchange(port: gate.port, ReloadTests.get).text == "hello")
    #expect(eventually { gate.log.contains("an inherited socket, 127.0.0.1 port") && gate.log.contains("is no listener's") }, "\(gate.log)")
    #expect(gate.stop() == .exited(0))
  }
}

extension HandOverTests {
  @Test func aSocketThatHasThePortAtAnotherAddressIsNamed() throws {
    let everywhere = Self.activation.map {
      $0.replacing("bind(S, pack_sockaddr_in($port, INADDR_LOOPBACK))", with: "bind(S, pack_sockaddr_in($port, INADDR_ANY))")
    }
    let configuration = ReloadTests.configuration(upstream: try FreePort.next())
    let gate = try GateProcess(configuration, waitUntilReady: false, before: everywhere)
    #expect(gate.process.wait(milliseconds: 30_000) == .exited(1))
    let reason = "a socket that was handed to the gate listens at 0.0.0.0:\(gate.port) already: write that as bind"
    #expect(gate.log.contains(reason), "\(gate.log)")
  }
}

/// A process that is no child of this one.
final class OtherProcess {
  let identifier: pid_t

  init(_ identifier: pid_t) { self.identifier = identifier }

  /// The one that took over last from a gate, by its log.
  convenience init(successorOf gate: GateProcess) throws {
    let line = gate.log.split(separator: "\n").last { $0.hasSuffix("has taken over") }
    guard let number = line?.split(separator: " ").dropLast(3).last.flatMap({ pid_t($0) }) else {
      throw FixtureFailure("nobody has taken over:\n\(gate.log)")
    }
    self.init(number)
  }

  deinit { kill() }

  /// Whether it runs. One that has ended stays as a zombie where nobody asks how it ended.
  var isRunning: Bool {
    let status = (try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)) ?? ""
    guard let behindName = status.lastIndex(of: ")") else { return false }
    return !status[behindName...].hasPrefix(") Z")
  }

  /// The process that can wait for it.
  var parent: pid_t? {
    let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("PPid:") }
    return line.flatMap { pid_t($0.dropFirst(5).drop { $0.isWhitespace }) }
  }

  func signal(_ number: Int32) { if isRunning { Glibc.kill(identifier, number) } }

  func kill() { signal(SIGKILL) }
}
