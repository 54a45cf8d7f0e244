import Fixtures
import Glibc
import Testing

/// Listeners and upstreams on IPv6 and on Unix sockets.
@Suite struct SocketTests {
  private func configuration(servers: String, bind: String, listener: String = "", in folder: TemporaryFolder) -> String {
    """
    workers: 1
    access_log: \(folder.file("access.log"))
    listeners:
      - bind: "\(bind)"
    \(listener)
    store: {memory: {}}
    apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
    upstreams: {api: {servers: ["\(servers)"], host: upstream}}
    routes: [{path: "/**", upstream: api, gate: off}]

    """
  }

  private func serve(_ configuration: String, in folder: TemporaryFolder, _ body: (ChildProcess) throws -> Void) throws {
    try folder.write(configuration, to: "proxy.yaml")
    let gate = try ChildProcess(
      [GateProcess.binary, "serve", "--config", folder.file("proxy.yaml")], output: folder.file("output"), errors: folder.file("errors"))
    defer { gate.kill() }
    guard eventually(within: 30_000, { folder.read("errors").contains("serves") || !gate.isRunning }), gate.isRunning else {
      throw FixtureFailure("the gate does not start:\n\(folder.read("errors"))")
    }
    try body(gate)
    gate.signal(SIGTERM)
    #expect(gate.wait(milliseconds: 30_000) == .exited(0), "\(folder.read("errors"))")
  }

  private func file(at path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  @Test func aListenerAndAnUpstreamMayBeUnixSockets() throws {
    let folder = try TemporaryFolder()
    let (path, server) = (folder.file("http.sock"), folder.file("app.sock"))
    let upstream = try ScriptedUpstream(unixPath: server)
    defer { upstream.stop() }
    let text = configuration(servers: "unix:\(server)", bind: "unix:\(path)", listener: "    trusted_proxies: [unix]", in: folder)
    try serve(text, in: folder) { _ in
      let status = try #require(file(at: path))
      #expect(status.st_mode & S_IFMT == S_IFSOCK && status.st_mode & 0o777 == 0o660)
      let curl = try CommandRun([
        "/usr/bin/curl", "-sS", "--unix-socket", path, "-H", "X-Forwarded-For: 203.0.113.9", "http://api.example.com/a?b=c",
      ])
      #expect(curl.succeeded && curl.text == "hello", "\(curl.errors)")
      let request = try #require(upstream.requests.first?.message)
      #expect(request.target == "/a?b=c")
      #expect(request.values("Host") == ["localhost"])
      #expect(request.values("X-Forwarded-For") == ["203.0.113.9"])
      #expect(request.values("X-Forwarded-Host") == ["api.example.com"])
      #expect(eventually { folder.read("access.log").contains("\"client\":\"203.0.113.9\"") })
      #expect(folder.read("access.log").contains("\"upstream\":\"unix:\(server)\""))
    }
    #expect(file(at: path) == nil, "the socket's file is left behind")
  }

  @Test func whatAPeerSaysOverAUnixSocketIsNotBelievedUnlessItIsListed() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("http.sock")
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try serve(configuration(servers: "http://127.0.0.1:\(upstream.port)", bind: "unix:\(path)", in: folder), in: folder) { _ in
      let answer = try RawConnection(unixPath: path).exchange("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n")
      #expect(answer.status == 200)
      // There is no address to write instead.
      #expect(upstream.requests.first?.message.values("X-Forwarded-For") == [])
      #expect(eventually { folder.read("access.log").contains("\"client\":\"unix\"") })
    }
  }

  @Test func aSocketThatACrashLeftIsReplacedAndALivingOneIsNot() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("http.sock")
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let text = configuration(servers: "http://127.0.0.1:\(upstream.port)", bind: "unix:\(path)", in: folder)
    try folder.write(text, to: "proxy.yaml")
    let command = [GateProcess.binary, "serve", "--config", folder.file("proxy.yaml")]
    let crashed = try ChildProcess(command, output: folder.file("first output"), errors: folder.file("first errors"))
    #expect(eventually(within: 30_000) { file(at: path) != nil && folder.read("first errors").contains("serves") })
    let second = try CommandRun(command)
    #expect(!second.succeeded && second.errors.contains("another program answers there"), "\(second.errors)")
    #expect(try RawConnection(unixPath: path).exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
    crashed.kill()
    #expect(file(at: path) != nil)
    try serve(text, in: folder) { _ in
      let answer = try RawConnection(unixPath: path).exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(answer.status == 200)
    }
    // What is no socket is nobody's to remove.
    try folder.write("precious", to: "http.sock")
    let third = try CommandRun(command)
    #expect(!third.succeeded && third.errors.contains("no socket"), "\(third.errors)")
    #expect(folder.read("http.sock") == "precious")
  }

  @Test func aListenerMayBeIPv6() throws {
    let folder = try TemporaryFolder()
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let port = try FreePort.next()
    let text = configuration(servers: "http://127.0.0.1:\(upstream.port)", bind: "[::1]:\(port)", in: folder)
    try serve(text, in: folder) { _ in
      #expect(try RawConnection(ipv6Port: port).exchange("GET / HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n").status == 200)
      let request = try #require(upstream.requests.first?.message)
      #expect(request.values("X-Forwarded-For") == ["::1"])
      #expect(request.values("X-Forwarded-Host") == ["[::1]:\(port)"])
    }
  }

  @Test func anUpstreamMayBeIPv6() throws {
    // The gate itself listens at ::1 and is the upstream of another.
    let folder = try TemporaryFolder()
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let port = try FreePort.next()
    try serve(configuration(servers: "http://127.0.0.1:\(upstream.port)", bind: "[::1]:\(port)", in: folder), in: folder) { _ in
      let front = try TemporaryFolder()
      let frontPort = try FreePort.next()
      try serve(configuration(servers: "http://[::1]:\(port)", bind: "[::]:\(frontPort)", in: front), in: front) { _ in
        let answer = try exchange(port: frontPort, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(answer.text == "hello")
        #expect(upstream.requests.first?.message.values("X-Forwarded-Host") == ["[::1]:\(port)"])
      }
    }
  }
}
