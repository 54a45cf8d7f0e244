import Fixtures
import Testing

/// The harness itself: a test that could not fail would be worth nothing.
@Suite struct HarnessTests {
  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
    "HTTP/1.1 200 OK\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na",
    "HTTP/1.1  200 OK\r\nContent-Length: 1\r\n\r\na",
    "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\na\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
  ])
  func theClientRefusesAnAnswerThatIsNotStrict(answer: String) throws {
    let upstream = try ScriptedUpstream { exchange in
      try exchange.send(answer)
      exchange.close()
    }
    defer { upstream.stop() }
    #expect(throws: MalformedMessage.self) { try exchange(port: upstream.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
  ])
  func theUpstreamNotesARequestThatIsNotStrict(request: String) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let client = try RawConnection(port: upstream.port)
    try client.send(request)
    #expect(try client.readToEnd().isEmpty)
    #expect(eventually { upstream.malformed.count == 1 })
  }

  @Test func theUpstreamRemembersRequestsWithTheirBodiesAndConnections() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let client = try RawConnection(port: upstream.port)
    #expect(try client.exchange("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n").text == "hello")
    let body = "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nT: u\r\n\r\n"
    #expect(throws: (any Error).self) { try client.exchange(body) }  // Extensions of chunks are none that the gate may send.
    let other = try RawConnection(port: upstream.port)
    let strict = body.replacing(";x=y", with: "")
    #expect(try other.exchange(strict).status == 200)
    #expect(upstream.requests.map(\.message.target) == ["/a?b", "/c", "/c"])
    #expect(upstream.requests.map(\.connection) == [0, 0, 1])
    #expect(upstream.requests.last?.message.text == "abcd")
    #expect(upstream.requests.last?.message.chunkSizes == [3, 1, 0])
    #expect(upstream.requests.last?.message.trailers.map(\.name) == ["T"])
    #expect(upstream.connectionCount == 2)
  }

  @Test func aProgramIsGivenItsInputAndItsEndIsKnown() throws {
    let run = try CommandRun(["sh", "-c", "cat; echo bad >&2; exit 3"], input: Array("in".utf8))
    #expect(run.text == "in")
    #expect(run.errors == "bad\n")
    #expect(run.end == .exited(3))
    let killed = try ChildProcess(["sleep", "60"])
    #expect(killed.isRunning)
    killed.kill()
    #expect(killed.wait() == .signalled(9))
  }

  @Test func nginxServesTheFilesItIsGiven() throws {
    let nginx = try NginxProcess(files: ["a/b.txt": Array("content".utf8)])
    defer { nginx.stop() }
    #expect(try exchange(port: nginx.port, "GET /a/b.txt HTTP/1.1\r\nHost: a\r\n\r\n").text == "content")
    let upload = "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
    #expect(try exchange(port: nginx.port, upload).text == "received 3 bytes\n")
  }
}
