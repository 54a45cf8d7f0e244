import Fixtures
import Foundation
import Glibc
import Testing

/// Listeners with TLS, as curl and openssl see them.
@Suite struct TLSListenerTests {
  let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  private func tls(_ issued: CertificateAuthority.Issued, _ more: String = "") -> String {
    "tls: {certificate: \(issued.certificateFile), private_key: \(issued.keyFile)\(more.isEmpty ? "" : ", \(more)")}"
  }

  private func withGate(
    _ lines: [String], workers: Int = 1, _ body: (GateProcess, ScriptedUpstream, TLSClients) throws -> Void
  ) throws {
    try withProxy(listener: lines, workers: workers) { gate, upstream in
      try body(gate, upstream, TLSClients(port: gate.port, authority: authority))
    }
  }

  @Test func aRequestOverTLSIsServedAndToldSo() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop)]) { (gate, upstream, clients) throws in
      #expect(try clients.curl("shop.example.com", "/a").text == "hello")
      #expect(upstream.requests.last?.message.values("X-Forwarded-Proto") == ["https"])
      #expect(try gate.accessLog(count: 1)[0]["tls"] == "1.3")
      #expect(try gate.metric("attestgate_tls_handshakes_total", ["version": "1.3", "resumed": "false"]) == 1)
      let expiry = try #require(try gate.metric("attestgate_certificate_expiry_timestamp_seconds"))
      #expect(abs(expiry - Date().timeIntervalSince1970 - 90 * 86_400) < 120)
    }
  }

  @Test func everyBodyComesThroughWhole() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let text = String(repeating: "0123456789abcdef", count: 200_000)
    try withProxy(script: { try $0.answer(String(decoding: try $0.readBody(), as: UTF8.self)) }, listener: [tls(shop)]) { gate, _ in
      let folder = try TemporaryFolder()
      let file = try folder.write(text, to: "body")
      let clients = TLSClients(port: gate.port, authority: authority)
      #expect(try clients.curl("shop.example.com", "/", "--data-binary", "@\(file)").text == text)
    }
  }

  @Test func theNameThatTheClientAsksForChoosesTheCertificateAndItsKeyTheKind() throws {
    let rsa = try authority.issue("rsa", names: ["a.example.com"], key: .rsa(2048))
    let curve = try authority.issue("curve", names: ["a.example.com"])
    let other = try authority.issue("other", names: ["*.example.org"])
    let list = [rsa, curve, other].map { "{certificate: \($0.certificateFile), private_key: \($0.keyFile)}" }.joined(separator: ", ")
    try withGate(["tls: {certificates: [\(list)]}"]) { (_, _, clients) throws in
      #expect(try clients.openssl("-servername", "x.example.org").contains("subject=CN = *.example.org"))
      #expect(try clients.openssl("-servername", "a.example.com").contains("subject=CN = a.example.com"))
      #expect(try clients.openssl("-servername", "unknown.example.net").contains("subject=CN = a.example.com"))
      #expect(try clients.openssl("-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256").contains("Cipher is ECDHE-RSA-AES128-GCM-SHA256"))
      let curved = try clients.openssl("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256")
      #expect(curved.contains("Cipher is ECDHE-ECDSA-AES128-GCM-SHA256"))
    }
  }

  @Test func oldVersionsOtherProtocolsAndWeakSuitesAreRefused() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"], key: .rsa(2048))
    try withGate([tls(shop)]) { (gate, _, clients) throws in
      #expect(try clients.openssl("-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0").contains("Cipher is (NONE)"))
      #expect(try clients.openssl("-tls1_2", "-cipher", "AES128-SHA").contains("Cipher is (NONE)"))
      #expect(try clients.openssl("-alpn", "h2").contains("no application protocol"))
      #expect(try clients.openssl("-alpn", "h2,http/1.1").contains("ALPN protocol: http/1.1"))
      #expect(try gate.metric("attestgate_tls_handshake_failures_total", ["side": "peer"]) == 3)
      // One line stands for all of them.
      let told = gate.log.split(separator: "\n").filter { $0.contains("was not agreed upon") }
      #expect(told.count == 1)
      let first = "notice TLS with 127.0.0.1 at 127.0.0.1:\(gate.port) was not agreed upon: unsupported protocol"
      #expect(told.first?.hasSuffix(first) == true, "\(told)")
    }
    try withGate([tls(shop, "min_version: \"1.3\"")]) { (_, _, clients) throws in
      #expect(try clients.openssl("-tls1_2").contains("Cipher is (NONE)"))
      #expect(try clients.openssl("-tls1_3").contains("TLSv1.3, Cipher is"))
    }
  }

  @Test func theCheapestSuiteIsChosenUnlessTheClientHasAReasonForAnother() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop)]) { (_, _, clients) throws in
      #expect(try clients.openssl().contains("Cipher is TLS_AES_128_GCM_SHA256"))
      // Who names ChaCha20 first has no instructions for AES.
      let suites = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"
      #expect(try clients.openssl("-ciphersuites", suites).contains("Cipher is TLS_CHACHA20_POLY1305_SHA256"))
      #expect(try clients.openssl("-ciphersuites", "TLS_AES_256_GCM_SHA384").contains("Cipher is TLS_AES_256_GCM_SHA384"))
    }
  }

  @Test func renegotiationAndEarlyDataAreRefused() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop)]) { (_, upstream, clients) throws in
      // "R" on a line of its own makes s_client ask for a new handshake.
      let script = "(sleep 0.3; echo R; sleep 0.3) | openssl s_client -tls1_2 -connect 127.0.0.1:\(clients.port)"
      let run = try CommandRun(["sh", "-c", script], milliseconds: 20_000)
      let text = run.text + run.errors
      #expect(text.contains("RENEGOTIATING"))
      #expect(text.contains("no renegotiation"))
      let ticket = try clients.openssl("-tls1_3", "-ign_eof", input: "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      #expect(ticket.contains("Max Early Data: 0"))
      #expect(upstream.requests.count == 1)
    }
  }

  @Test(arguments: ["-tls1_2", "-tls1_3"]) func aSessionIsResumedWhicheverWorkerTakesTheNextConnection(version: String) throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop)], workers: 2) { (gate, _, clients) throws in
      let folder = try TemporaryFolder()
      let request = "GET / HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\n\r\n"
      let first = try clients.openssl(version, "-sess_out", folder.file("session"), "-ign_eof", input: request)
      #expect(first.contains("New, TLS"))
      for _ in 0..<4 {
        #expect(try clients.openssl(version, "-sess_in", folder.file("session"), "-ign_eof", input: request).contains("Reused, TLS"))
      }
      #expect(try gate.metric("attestgate_tls_handshakes_total", ["resumed": "true"]) == 4)
    }
  }

  @Test func theVerdictOnAClientsCertificateGoesToTheUpstreamAndNobodysWordForIt() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let device = try authority.issue("device", names: ["device-7"])
    let strangers = try CertificateAuthority(name: "Stranger")
    let stranger = try strangers.issue("device", names: ["device-7"])
    try withGate([tls(shop, "client_ca: \(authority.certificateFile)")]) { (_, upstream, clients) throws in
      let forged = ["-H", "X-App-Attest-Client-Certificate: verified; sha256=00", "-H", "X-App-Attest-Client-Subject: CN=admin"]
      _ = try clients.curl("shop.example.com", "/", forged[0], forged[1], forged[2], forged[3])
      #expect(upstream.requests.last?.message.values("X-App-Attest-Client-Certificate") == ["none"])
      #expect(upstream.requests.last?.message.values("X-App-Attest-Client-Subject") == [])
      let known = try clients.curl("shop.example.com", "/", "--cert", device.certificateFile, "--key", device.keyFile)
      #expect(known.text == "hello")
      let verdict = upstream.requests.last?.message.values("X-App-Attest-Client-Certificate").first ?? ""
      #expect(verdict.hasPrefix("verified; sha256=") && verdict.utf8.count == "verified; sha256=".utf8.count + 64)
      #expect(upstream.requests.last?.message.values("X-App-Attest-Client-Subject") == ["CN=device-7"])
      // A part of it would be another subject.
      let longName = "device-8" + String(repeating: "/OU=" + String(repeating: "x", count: 60), count: 16)
      let long = try authority.issue("long", names: ["device-8"], commonName: longName)
      _ = try clients.curl("shop.example.com", "/", "--cert", long.certificateFile, "--key", long.keyFile)
      #expect(upstream.requests.last?.message.values("X-App-Attest-Client-Certificate").first?.hasPrefix("verified") == true)
      #expect(upstream.requests.last?.message.values("X-App-Attest-Client-Subject") == [])
      let refused = try clients.curl("shop.example.com", "/", "--cert", stranger.certificateFile, "--key", stranger.keyFile)
      #expect(!refused.succeeded)
      #expect(upstream.requests.count == 3)
    }
  }

  @Test func aConnectionDoesNotOutliveTheAuthoritiesThatVerifiedItsClient() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    let device = try authority.issue("device", names: ["device-7"])
    let others = try CertificateAuthority(name: "Others")
    let trusted = try authority.folder.write(String(decoding: authority.certificate, as: UTF8.self), to: "trusted.pem")
    let (hasCome, mayAnswer) = (Latch(), Latch())
    try withProxy(
      script: { exchange in
        if exchange.target == "/first" {
          hasCome.open()
          mayAnswer.wait()
        }
        try exchange.answer("hello")
      }, listener: [tls(shop, "client_ca: \(trusted)")]
    ) { gate, upstream in
      let isReloaded = Latch()
      _ = TestThread {
        hasCome.wait()
        // The same file with another content, as after a theft.
        _ = try? others.certificate.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: trusted)) }
        try? gate.reload()
        mayAnswer.open()
        isReloaded.open()
      }
      let clients = TLSClients(port: gate.port, authority: authority)
      let first = "https://shop.example.com:\(gate.port)/first"
      let run = try clients.curl("shop.example.com", "/second", "--cert", device.certificateFile, "--key", device.keyFile, first)
      isReloaded.wait()
      #expect(run.text == "hello")
      #expect(!run.succeeded)
      #expect(upstream.requests.count == 1)
    }
  }

  @Test func aRenewedCertificateIsShownToNewConnectionsAndOldOnesLiveOn() throws {
    let first = try authority.issue("first", names: ["shop.example.com"], commonName: "first")
    let second = try authority.issue("second", names: ["shop.example.com"], commonName: "second")
    try withGate([tls(first)]) { (gate, _, clients) throws in
      #expect(try clients.openssl().contains("subject=CN = first"))
      // What an ACME client leaves: other bytes under the same names.
      for (from, to) in [(second.certificateFile, first.certificateFile), (second.keyFile, first.keyFile)] {
        _ = rename(from, to)
      }
      gate.process.signal(SIGHUP)
      let isRenewed = eventually(within: 10_000) { (try? clients.openssl().contains("subject=CN = second")) == true }
      #expect(isRenewed)
      // A broken one keeps what is there, and says so.
      try "nothing".write(toFile: first.certificateFile, atomically: false, encoding: .utf8)
      let hasFailed = eventually(within: 15_000) {
        guard let failures = try? gate.metric("attestgate_certificate_reloads_total", ["result": "failed"]) else { return false }
        return failures > 0
      }
      #expect(hasFailed)
      #expect(gate.log.contains("the certificates stay as they were"))
      #expect(try clients.openssl().contains("subject=CN = second"))
    }
  }

  @Test func aHandshakeThatDoesNotComeEndsByItsTimeOut() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop, "handshake_timeout: 200ms")]) { gate, _, _ in
      let silent = try gate.connect()
      #expect(try silent.readToEnd().isEmpty)
      let isCounted = eventually { (try? gate.metric("attestgate_timeouts_total", ["kind": "handshake"])) == 1 }
      #expect(isCounted)
    }
  }

  @Test func plainHTTPOnATLSPortReachesNobody() throws {
    let shop = try authority.issue("shop", names: ["shop.example.com"])
    try withGate([tls(shop)]) { (gate, upstream, clients) throws in
      let plain = try gate.connect()
      try plain.send("GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n")
      _ = try? plain.readToEnd()
      #expect(upstream.requests.isEmpty)
      #expect(try clients.curl("shop.example.com").text == "hello")
    }
  }

  @Test func aConfigurationWithTheWrongKeyIsRefusedAndAnOldCertificateWarnedOf() throws {
    let one = try authority.issue("one", names: ["a.example.com"], days: 11)
    let other = try authority.issue("other", names: ["a.example.com"])
    let folder = try TemporaryFolder()
    func check(_ key: String, _ certificate: String? = nil) throws -> CommandRun {
      let text = """
        listeners: [{bind: "127.0.0.1:8443", tls: {certificate: \(certificate ?? one.certificateFile), private_key: \(key)}}]
        store: {memory: {}}
        apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
        upstreams: {api: {servers: ["http://127.0.0.1:9000"]}}
        routes: [{path: "/**", upstream: api, gate: off}]

        """
      return try CommandRun([GateProcess.binary, "check", folder.write(text, to: "proxy.yaml")])
    }
    let wrong = try check(other.keyFile)
    #expect(!wrong.succeeded)
    #expect((wrong.text + wrong.errors).contains("the private key is another certificate's"))
    let old = try check(one.keyFile)
    #expect(old.succeeded)
    #expect((old.text + old.errors).contains("has a certificate that expires in 1"))
    #expect(old.text.contains("\ncertificate  a.example.com: ECDSA, until 2"), "\(old.text)")
    #expect(!old.text.contains("which signed it"))
    let lone = try check(one.keyFile, authority.folder.file("one.leaf"))
    #expect(lone.succeeded && lone.text.contains("has a certificate without that of CN=Test authority, which signed it"), "\(lone.text)")
    let missing = try check(one.keyFile + ".gone", one.certificateFile + ".gone")
    #expect(missing.errors.contains("listeners[0].tls.certificate: cannot be used: "), "\(missing.errors)")
    #expect(missing.errors.contains("listeners[0].tls.private_key: cannot be used: "), "\(missing.errors)")
  }
}
