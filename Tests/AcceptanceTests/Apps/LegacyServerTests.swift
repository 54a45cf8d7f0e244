import Fixtures
import Foundation
import SimulatedDevice
import Testing

/// A legacy API and a client that nobody here wrote: nginx behind the gate, curl before it.
@Suite struct LegacyServerTests {
  private static let text = String(repeating: "A line that can be compressed well.\n", count: 200)
  private static let binary = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }

  private func withLegacyServer(_ body: (GateProcess, NginxProcess, SimulatedAuthority) throws -> Void) throws {
    let nginx = try NginxProcess(files: [
      "public/index.html": Array("<p>Welcome</p>".utf8), "public/text.txt": Array(Self.text.utf8), "public/large.bin": Self.binary,
      "public/a folder/é.txt": Array("accents".utf8), "private/secret.txt": Array("secret".utf8),
    ])
    defer { nginx.stop() }
    let folder = try TemporaryFolder()
    let authority = try SimulatedAuthority(at: Int(Date().timeIntervalSince1970))
    let root = try folder.write(authority.root.pem, to: "root.pem")
    let gate = try GateProcess(
      """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop, environments: [simulated], trust_roots: ["\(root)"]}]
      upstreams: {files: {servers: ["http://127.0.0.1:\(nginx.port)"]}}
      routes:
        - {path: "/public/**", upstream: files, gate: off}
        - {path: /moved, upstream: files, gate: off}
        - {path: "/**", upstream: files, gate: enforce}

      """)
    defer { gate.process.kill() }
    try body(gate, nginx, authority)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
  }

  private func curl(_ gate: GateProcess, _ path: String, _ options: String..., input: [UInt8] = []) throws -> CommandRun {
    let words = ["curl", "--silent", "--show-error", "--globoff", "--max-time", "30"] + options + ["http://127.0.0.1:\(gate.port)\(path)"]
    let run = try CommandRun(words, input: input)
    #expect(run.succeeded, "\(words.joined(separator: " ")): \(run.errors)")
    return run
  }

  @Test func filesArriveAsTheyAre() throws {
    try withLegacyServer { gate, nginx, _ in
      #expect(try curl(gate, "/public/index.html").text == "<p>Welcome</p>")
      #expect(try curl(gate, "/public/large.bin").output == Self.binary)
      #expect(try curl(gate, "/public/large.bin", "--range", "1000000-1000099").output == Array(Self.binary[1_000_000..<1_000_100]))
      #expect(try curl(gate, "/public/a%20folder/%C3%A9.txt").text == "accents")
      #expect(try curl(gate, "/public/text.txt", "--compressed").text == Self.text)
      #expect(try curl(gate, "/public/text.txt", "--http1.0").text == Self.text)
      let head = try curl(gate, "/public/text.txt", "--head").text
      #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
      #expect(head.contains("Content-Length: \(Self.text.utf8.count)\r\n"))
      #expect(nginx.accessLog.allSatisfy { $0.contains("\"127.0.0.1\"") })
    }
  }

  @Test func compressedAnswersWithoutALengthPassAsTheyCome() throws {
    try withLegacyServer { gate, _, _ in
      let answer = try exchange(port: gate.port, "GET /public/text.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
      #expect(answer.value("Content-Encoding") == "gzip")
      #expect(answer.value("Transfer-Encoding") == "chunked")
      #expect(answer.body.count < Self.text.utf8.count / 4)
    }
  }

  @Test func conditionsRedirectsAndErrorsAreTheServersOwn() throws {
    try withLegacyServer { gate, _, _ in
      let first = try exchange(port: gate.port, "GET /public/index.html HTTP/1.1\r\nHost: a\r\n\r\n")
      let tag = try #require(first.value("ETag"))
      let code = ["--output", "/dev/null", "--write-out", "%{http_code} %{num_redirects} %{url_effective}"]
      let status = { (words: [String], path: String) in
        try CommandRun(["curl", "--silent"] + code + words + ["http://127.0.0.1:\(gate.port)\(path)"]).text
      }
      #expect(try status(["--header", "If-None-Match: \(tag)"], "/public/index.html").hasPrefix("304 "))
      #expect(try status(["--location"], "/moved").contains("401 1 "))
      #expect(try status(["--location"], "/public/a%20folder") == "200 1 http://127.0.0.1:\(gate.port)/public/a%20folder/")
      #expect(try status([], "/public/nowhere").hasPrefix("404 "))
      #expect(try status(["--request", "DELETE"], "/public/index.html").hasPrefix("405 "))
      #expect(try status(["--range", "9000000-"], "/public/large.bin").hasPrefix("416 "))
    }
  }

  @Test func oneConnectionServesManyRequests() throws {
    try withLegacyServer { gate, nginx, _ in
      let run = try CommandRun([
        "curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code} %{num_connects}\n",
        "http://127.0.0.1:\(gate.port)/public/index.html?[1-50]",
      ])
      let lines = run.text.split(separator: "\n")
      #expect(lines.count == 50)
      #expect(lines.allSatisfy { $0.hasPrefix("200 ") })
      #expect(lines.filter { $0.hasSuffix(" 1") }.count == 1)
      #expect(nginx.accessLog.count == 50)
    }
  }

  @Test func manyAtOnceAllArriveWhole() throws {
    try withLegacyServer { gate, nginx, _ in
      let folder = try TemporaryFolder()
      let run = try CommandRun([
        "curl", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", "16", "--output", folder.file("#1"),
        "http://127.0.0.1:\(gate.port)/public/large.bin?[1-40]",
      ])
      #expect(run.succeeded, "\(run.errors)")
      for number in 1...40 {
        let content = try Data(contentsOf: URL(fileURLWithPath: folder.file("\(number)")))
        #expect(content == Data(Self.binary), "\(number)")
      }
    }
  }

  @Test func whatIsGatedNeedsASignatureAndCurlCanCarryIt() throws {
    try withLegacyServer { gate, nginx, authority in
      let refused = try curl(gate, "/private/secret.txt", "--write-out", " %{http_code}").text
      #expect(refused.hasSuffix(" 401"))
      #expect(refused.contains("assertion_missing"))
      #expect(nginx.accessLog.isEmpty)
      let app = AppClient(.named, identity: GatedStage.shop, authority: authority, port: gate.port)
      try app.enrol()
      let get = try app.sign("GET", "/private/secret.txt", body: "")
      let headers = get.fields.flatMap { ["--header", $0] }
      let allowed = try CommandRun(["curl", "--silent"] + headers + ["http://127.0.0.1:\(gate.port)/private/secret.txt"])
      #expect(allowed.text == "secret")
      // A large body, for which curl waits for 100 Continue; and one whose length it does not know.
      let body = String(repeating: "x", count: 1_000_000)
      for options in [["--data-binary", "@-", "--header", "Expect: 100-continue"], ["--upload-file", "-", "--request", "POST"]] {
        let post = try app.sign("POST", "/upload", body: body)
        let run = try CommandRun(
          ["curl", "--silent"] + options + post.fields.flatMap { ["--header", $0] } + ["http://127.0.0.1:\(gate.port)/upload"],
          input: Array(body.utf8))
        #expect(run.text == "received 1000000 bytes\n")
      }
    }
  }
}
