import Fixtures
import Foundation
import Testing

/// `attestgate device`, first beside a gate with a store in memory, then beside servers that misbehave.
@Suite struct DeviceCommandTests {
  /// The folder of an authority and a device, and the gate that trusts the authority.
  struct Stage {
    let folder: TemporaryFolder
    let gate: GateProcess
    let upstream: ScriptedUpstream

    var url: String { "http://127.0.0.1:\(gate.port)" }

    func device(_ arguments: [String], input: String = "") throws -> CommandRun {
      try DeviceCommandTests.device(arguments + ["--state", folder.file("device")], input: input)
    }

    func enroll(_ arguments: [String] = []) throws -> CommandRun {
      try device(["enroll", url, "--authority", folder.file("authority")] + arguments)
    }
  }

  static func device(_ arguments: [String], input: String = "") throws -> CommandRun {
    try CommandRun([GateProcess.binary, "device"] + arguments, input: Array(input.utf8))
  }

  static func withGate(listener: [String] = [], _ body: (Stage) throws -> Void) throws {
    let folder = try TemporaryFolder()
    #expect(try device(["authority", folder.file("authority")]).succeeded)
    let upstream = try ScriptedUpstream { try $0.answer("\($0.request.method) \($0.target)") }
    defer { upstream.stop() }
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps:
        - team_id: ABCDE12345
          bundle_id: com.example.shop
          environments: [simulated]
          trust_roots: ["\(folder.file("authority/root.pem"))"]
      upstreams:
        api: {servers: ["http://127.0.0.1:\(upstream.port)"]}
      routes:
        - {path: "/open/**", upstream: api, gate: off}
        - {path: "/body/**", methods: [POST], upstream: api, gate: {client_data: body, headers: {assertion: X-App-Assertion}}}
        - path: "/raw/**"
          upstream: api
          allow_in_path: [encoded_slash]
          gate: {path_form: encoded, bind: [method, path, body, host]}
        - {path: "/**", upstream: api, gate: enforce}

      """, listener: listener)
    defer { gate.process.kill() }
    try body(Stage(folder: folder, gate: gate, upstream: upstream))
    #expect(upstream.malformed.isEmpty)
  }

  @Test func anEnrolledDeviceIsLetThroughAndAllElseIsRefused() throws {
    try Self.withGate { stage in
      let enrolled = try stage.enroll()
      #expect(enrolled.succeeded, "\(enrolled.text)\(enrolled.errors)")
      #expect(enrolled.text.contains("\"environment\":\"simulated\""))

      let accepted: [[String]] = [
        ["/v1/orders?page=2"], ["/v1/orders/", "-d", "{\"item\":1}"], ["/v1/caf%C3%A9+x", "-X", "DELETE", "--no-key-id"], ["?"],
        ["/body/x", "-d", "hello", "--profile", "body"], ["/raw/a%2Fb", "--encoded-path", "--bind-host"], ["/open/x", "--unsigned"],
      ]
      for words in accepted {
        let run = try stage.device(["request", stage.url + words[0]] + words.dropFirst())
        #expect(run.succeeded, "\(words): \(run.text)\(run.errors)")
        #expect(run.text.hasPrefix("HTTP/1.1 200 OK\n"), "\(words)")
      }
      #expect(stage.upstream.requests.count == accepted.count)

      let refused: [([String], String)] = [
        (["--tamper", "body", "-d", "hello"], "body_mismatch"), (["--tamper", "path"], "path_mismatch"),
        (["--tamper", "method"], "method_mismatch"), (["--tamper", "query"], "query_unbound"), (["--unsigned"], "assertion_missing"),
        (["--client-data-header", "X-Other"], "client_data_missing"), (["--profile", "body", "-d", "hello"], "assertion_missing"),
      ]
      for (words, code) in refused {
        let run = try stage.device(["request", "\(stage.url)/v1/orders"] + words)
        #expect(run.end == .exited(1), "\(words)")
        #expect(run.text.contains("\"code\":\"\(code)\""), "\(words): \(run.text)")
      }
      #expect(stage.upstream.requests.count == accepted.count)

      let repeated = try stage.device(["request", "\(stage.url)/v1/orders", "--repeat", "--json"])
      #expect(repeated.end == .exited(1))
      #expect(repeated.text.contains("\"status\" : 200"))
      #expect(repeated.text.contains("assertion_already_accepted"))
      #expect(stage.upstream.requests.count == accepted.count + 1)
    }
  }

  @Test func aDeviceSpeaksToAGateWithTLSThatItsAuthorityVerifies() throws {
    let authority = try CertificateAuthority()
    let local = try authority.issue("local", names: ["localhost", "IP:127.0.0.1"])
    try Self.withGate(listener: ["tls: {certificate: \(local.certificateFile), private_key: \(local.keyFile)}"]) { stage in
      let url = "https://localhost:\(stage.gate.port)"
      let trust = ["--ca", authority.certificateFile]
      let enrolled = try stage.device(["enroll", url, "--authority", stage.folder.file("authority")] + trust)
      #expect(enrolled.succeeded, "\(enrolled.text)\(enrolled.errors)")
      for words in [["\(url)/v1/orders", "-d", "{}"], ["\(url)/raw/a%2Fb", "--encoded-path", "--bind-host"]] {
        let run = try stage.device(["request"] + words + trust)
        #expect(run.succeeded, "\(words): \(run.text)\(run.errors)")
      }
      // A long body goes out whole although the server's tickets come meanwhile.
      let body = try stage.folder.write(String(repeating: "0123456789", count: 400_000), to: "body")
      let long = try stage.device(["request", "\(url)/open/x", "--unsigned", "--data", "@\(body)"] + trust)
      #expect(long.succeeded, "\(long.text)\(long.errors)")
      #expect(stage.upstream.requests.last?.message.body.count == 4_000_000)
      let untrusted = try stage.device(["request", "\(url)/v1/orders"])
      #expect(untrusted.end == .exited(1))
      #expect(untrusted.errors.contains("no TLS with the server") && untrusted.errors.contains("--ca"), "\(untrusted.errors)")
      let plain = try stage.device(["request", "\(stage.url)/v1/orders"] + trust)
      #expect(plain.end == .exited(2) && plain.errors.contains("--ca goes with an https URL"), "\(plain.errors)")
      #expect(stage.upstream.requests.count == 3)
    }
  }

  @Test func aRequestSignedForAnotherClientIsLetThrough() throws {
    try Self.withGate { stage in
      #expect(try stage.enroll(["--bundle-version", "12", "--category", "3"]).succeeded)
      let challenge = try exchange(
        port: stage.gate.port, "GET /assert/challenge HTTP/1.1\r\nHost: gate\r\nConnection: close\r\n\r\n"
      ).text
      let input = #"{"method":"POST","target":"/v1/orders?page=2","body":"aGVsbG8=","challenge":"\#(challenge)"}"#
      let signed = try stage.device(["sign"], input: input)
      #expect(signed.succeeded, "\(signed.errors)")
      let lines = signed.text.split(separator: "\n")
      #expect(
        lines.map { String($0.prefix { $0 != ":" }) } == ["X-App-Attest-Assertion", "X-App-Attest-Client-Data", "X-App-Attest-Key-Id"])
      let head = "POST /v1/orders?page=2 HTTP/1.1\r\nHost: gate\r\nContent-Length: 5\r\n\(lines.joined(separator: "\r\n"))\r\n"
      let answer = try exchange(port: stage.gate.port, head + "Connection: close\r\n\r\nhello")
      #expect(answer.status == 200, "\(answer)")
    }
  }

  @Test func aKeyOfAnotherAppOrAuthorityIsNotEnrolled() throws {
    try Self.withGate { stage in
      let other = try stage.enroll(["--app", "ABCDE12345.com.example.other", "--json"])
      #expect(other.end == .exited(1))
      #expect(other.text.contains("rp_id_mismatch"))
      let authority = stage.folder.file("other")
      #expect(try Self.device(["authority", authority]).succeeded)
      let untrusted = try stage.device(["enroll", stage.url, "--authority", authority])
      #expect(untrusted.end == .exited(1))
      #expect(untrusted.text.contains("certificate_chain_invalid"))
      // A key that did not enrol is not kept.
      #expect(!FileManager.default.fileExists(atPath: stage.folder.file("device/device.json")))
    }
  }

  @Test func anAuthorityIsMadeOnce() throws {
    let folder = try TemporaryFolder()
    let first = try Self.device(["authority", folder.file("authority"), "--json"])
    #expect(first.succeeded)
    #expect(first.text.contains("\"root\" : \"\(folder.file("authority/root.pem"))\""))
    let root = folder.read("authority/root.pem")
    let second = try Self.device(["authority", folder.file("authority")])
    #expect(second.end == .exited(1))
    #expect(second.errors.contains("exists already"))
    #expect(folder.read("authority/root.pem") == root)
  }

  @Test(arguments: [
    [], ["unknown"], ["authority"], ["authority", "a", "b"], ["enroll"], ["enroll", "ftp://gate"],
    ["enroll", "http://gate", "--app", "x"],
    ["enroll", "http://gate", "--category", "-1"], ["request", "http://gate", "--tamper", "all"], ["request", "http://gate", "--unknown"],
    ["request", "http://gate", "--tamper", "path", "--unsigned"], ["request", "http://gate", "-X", "GET /"],
    ["request", "http://gate", "-X"],
    ["request", "http://gate", "-H", "no colon"], ["request", "http://gate", "-H", "A: b\r\nC: d"],
    ["request", "http://gate", "--profile", "x"],
    ["request", "http://gate", "--data", "@/does/not/exist"], ["request", "http://gate", "--repeat", "--repeat"],
    ["request", "http://gate", "--repeat=yes"], ["sign", "word"], ["sign"],
  ])
  func wrongUsageIsExitTwo(words: [String]) throws {
    let run = try Self.device(words)
    #expect(run.end == .exited(2), "\(words)")
    #expect(run.text.isEmpty)
    #expect(run.errors.contains("usage: attestgate device"))
  }

  @Test(arguments: ["", "authority", "enroll", "request", "sign"])
  func helpIsExitZero(command: String) throws {
    let run = try Self.device((command.isEmpty ? [] : [command]) + ["--help"])
    #expect(run.succeeded)
    #expect(run.text.hasPrefix("usage: attestgate device"))
    #expect(run.errors.isEmpty)
  }

  /// What is sent back in place of an answer, and what the command makes of it.
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0, "HTTP/1.1 200 OK\nhello\n"),
    ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, "HTTP/1.1 200 OK\nuntil the end\n"),
    ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 0, "HTTP/1.1 204 No Content\n\n"),
    (
      "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnone\r\n2\r\n, \r\n0\r\n\r\n", 1, "HTTP/1.1 404 Not Found\nnone, \n"
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", 1, ""),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 1, ""),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", 1, ""), ("SSH-2.0-server\r\n", 1, ""), ("", 1, ""),
  ])
  func answersOfEveryKindAreUnderstoodOrNamed(answer: String, exit: Int32, text: String) throws {
    let server = try ScriptedUpstream { exchange in
      try exchange.send(answer)
      exchange.close()
    }
    defer { server.stop() }
    let run = try Self.device(["request", "--unsigned", "http://localhost:\(server.port)/a?b"])
    #expect(run.end == .exited(exit))
    #expect(run.text == text)
    #expect(run.errors.isEmpty == !text.isEmpty, "\(run.errors)")
    #expect(server.malformed.isEmpty)
  }

  @Test func anAnswerBeforeTheBodyIsTaken() throws {
    let server = try ScriptedUpstream { exchange in
      try exchange.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
      _ = exchange.waitForHangUp()
    }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    try folder.write(String(repeating: "x", count: 8 << 20), to: "body")
    let run = try Self.device(["request", "--unsigned", "http://127.0.0.1:\(server.port)/", "-d", "@" + folder.file("body")])
    #expect(run.end == .exited(1))
    #expect(run.text.hasPrefix("HTTP/1.1 413 Content Too Large\n"), "\(run.errors)")
  }

  @Test func aGateThatIsNotThereIsNamed() throws {
    let port = try FreePort.next()
    let run = try Self.device(["request", "--unsigned", "http://127.0.0.1:\(port)/"])
    #expect(run.end == .exited(1))
    #expect(run.errors == "attestgate device: 127.0.0.1:\(port) refuses connections: is the gate running?\n")
  }
}
