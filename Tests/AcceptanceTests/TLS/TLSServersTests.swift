import Fixtures
import Glibc
import Testing

/// Upstreams and Redis over TLS: nginx and Redis as Debian ships them.
@Suite struct TLSServersTests {
  let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func nginx(_ issued: CertificateAuthority.Issued, _ more: [String] = []) throws -> NginxProcess {
    try NginxProcess(
      files: ["index.html": Array("hello".utf8)],
      tls: ["ssl_certificate \(issued.certificateFile);", "ssl_certificate_key \(issued.keyFile);", "ssl_session_tickets on;"] + more)
  }

  private func gate(_ port: UInt16, tls: String, pool: String = "") throws -> GateProcess {
    try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["https://127.0.0.1:\(port)"]\(tls)\(pool)}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """)
  }

  private func get(_ gate: GateProcess) throws -> RawMessage {
    let connection = try gate.connect()
    try connection.send("GET /index.html HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")
    return try connection.readAnswer()
  }

  @Test func anUpstreamOverTLSIsVerifiedAndItsConnectionsAreReused() throws {
    let nginx = try nginx(authority.issue("local", names: ["IP:127.0.0.1"]))
    let gate = try gate(nginx.port, tls: ", tls: {ca: \(authority.certificateFile)}")
    defer { gate.process.kill() }
    for _ in 0..<3 { #expect(try get(gate).text == "hello") }
    #expect(eventually { nginx.accessLog.count == 3 })
    // The tickets that nginx sends after the handshake are no unasked bytes: one connection served all.
    #expect(Set(nginx.accessLog.map { $0.split(separator: "\"").dropLast().last }).count == 1, "\(nginx.accessLog)")
    #expect(gate.stop() == .exited(0))
  }

  @Test func aNewConnectionResumesTheLastSession() throws {
    let nginx = try nginx(authority.issue("local", names: ["IP:127.0.0.1"]))
    let gate = try gate(nginx.port, tls: ", tls: {ca: \(authority.certificateFile)}", pool: ", pool: {idle: 0}")
    defer { gate.process.kill() }
    for _ in 0..<3 { #expect(try get(gate).text == "hello") }
    #expect(eventually { nginx.accessLog.count == 3 })
    #expect(nginx.accessLog.map { $0.contains("\" r ") } == [false, true, true], "\(nginx.accessLog)")
  }

  @Test func aServerForAnotherNameOrOfAnotherAuthorityGetsNothing() throws {
    let nginx = try nginx(authority.issue("other", names: ["other.example.com"]))
    let strangers = try CertificateAuthority(name: "Stranger")
    for (tls, reason) in [
      (", tls: {ca: \(authority.certificateFile)}", "IP address mismatch"), (", tls: {ca: \(strangers.certificateFile)}", "self"),
      ("", "self"),
    ] {
      let gate = try gate(nginx.port, tls: tls)
      defer { gate.process.kill() }
      #expect(try get(gate).status == 502)
      let failure = try gate.accessLog(count: 1)[0]["upstream_failure"] ?? ""
      #expect(failure.contains("the certificate does not hold") && failure.contains(reason), "\(failure)")
    }
    #expect(nginx.accessLog.isEmpty)
    let named = try gate(nginx.port, tls: ", tls: {ca: \(authority.certificateFile), server_name: other.example.com}")
    defer { named.process.kill() }
    #expect(try get(named).text == "hello")
  }

  /// The answer's end is the connection's, so nothing but close_notify tells a whole one from one that somebody cut (RFC 8446 section 6.1).
  @Test func anAnswerThatWasCutIsNotPassedOnAsAWhole() throws {
    let issued = try authority.issue("local", names: ["IP:127.0.0.1"])
    let folder = try TemporaryFolder()
    #expect(mkfifo(folder.file("answer"), 0o600) == 0)
    let answer = open(folder.file("answer"), O_RDWR | O_CLOEXEC)
    defer { close(answer) }
    let port = try FreePort.next()
    let server = try ChildProcess(
      ["openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert", issued.certificateFile, "-key", issued.keyFile, "-quiet"],
      input: folder.file("answer"), output: folder.file("request"), errors: folder.file("request"))
    defer { server.kill() }
    #expect(eventually { (try? RawConnection(port: port)) != nil })
    let gate = try gate(port, tls: ", tls: {ca: \(authority.certificateFile)}")
    defer { gate.process.kill() }
    let client = try gate.connect()
    try client.send("GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    #expect(eventually { folder.read("request").contains("GET / HTTP/1.1") })
    let text = "HTTP/1.0 200 OK\r\n\r\nhalf of it"
    #expect(write(answer, text, text.utf8.count) == text.utf8.count)
    var message = try client.readAnswerHead()
    #expect(message.value("Transfer-Encoding") == "chunked")
    #expect(try client.readChunk(of: &message))
    #expect(message.text == "half of it")
    server.kill()
    #expect(throws: (any Error).self) { try client.readChunk(of: &message) }
    #expect(try gate.accessLog(count: 1)[0]["upstream_failure"] != nil)
  }

  @Test func aServerThatAsksForOurCertificateGetsIt() throws {
    let device = try authority.issue("gate", names: ["gate-1"])
    let nginx = try nginx(
      authority.issue("local", names: ["IP:127.0.0.1"]),
      ["ssl_verify_client on;", "ssl_client_certificate \(authority.certificateFile);"])
    let pair = "{certificate: \(device.certificateFile), private_key: \(device.keyFile)}"
    let gate = try gate(nginx.port, tls: ", tls: {ca: \(authority.certificateFile), client_certificate: \(pair)}")
    defer { gate.process.kill() }
    #expect(try get(gate).text == "hello")
    let bare = try self.gate(nginx.port, tls: ", tls: {ca: \(authority.certificateFile)}")
    defer { bare.process.kill() }
    #expect(try get(bare).status == 400)
  }

  @Test func redisOverTLSServesAndAPlainOneIsNotTakenForIt() throws {
    let local = try authority.issue("redis", names: ["IP:127.0.0.1"])
    let tlsPort = try FreePort.next()
    let redis = try RedisServer(
      .init(lines: [
        "tls-port \(tlsPort)", "tls-cert-file \(local.certificateFile)", "tls-key-file \(local.keyFile)",
        "tls-ca-cert-file \(authority.certificateFile)", "tls-auth-clients no",
      ]))
    let configuration = { (port: UInt16) in
      """
      store: {redis: {url: "rediss://127.0.0.1:\(port)/0", tls: {ca: \(authority.certificateFile)}}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:9"]}}
      routes: [{path: "/**", upstream: api}]

      """
    }
    let gate = try GateProcess(configuration(tlsPort))
    defer { gate.process.kill() }
    #expect(try gate.metric("attestgate_store_up") == 1)
    let challenge = try exchange(
      port: gate.port, "GET /attest/challenge HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    #expect(challenge.status == 200)
    let wrong = try GateProcess(configuration(redis.port), waitUntilReady: false)
    defer { wrong.process.kill() }
    #expect(eventually(within: 10_000) { wrong.log.contains("store: down: Redis at 127.0.0.1:\(redis.port)") })
    #expect(try wrong.metric("attestgate_store_up") == 0)
  }
}
