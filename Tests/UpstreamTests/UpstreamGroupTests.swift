import EventLoop
import Fixtures
import Testing

@testable import Upstream

/// Which server gets a request, how often it is sent, and when nobody waits any longer.
@Suite struct UpstreamGroupTests {
  @Test func serversTakeTurns() async throws {
    let upstreams = try (0..<3).map { _ in try ScriptedUpstream() }
    defer { for upstream in upstreams { upstream.stop() } }
    let ports = upstreams.map(\.port)
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(ports[0], ports[1], ports[2]))
      for _ in 0..<9 { #expect(await stage.exchange(group, stage.request()).hasSuffix("hello")) }
      group.closeIdle()
      #expect(stage.gauge("idle") == 0)
    }
    #expect(upstreams.map(\.requests.count) == [3, 3, 3])
    #expect(upstreams.map(\.connectionCount) == [1, 1, 1])
  }

  @Test func aServerThatCannotBeReachedIsSkipped() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let dead = try FreePort.next()
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(dead, upstream.port))
      for _ in 0..<6 {
        let request = stage.request()
        #expect(await stage.exchange(group, request).hasSuffix("hello"))
        #expect(request.serverName == "127.0.0.1:\(upstream.port)")
      }
      group.closeIdle()
    }
    #expect(upstream.requests.count == 6)
  }

  @Test func whenEveryServerFailedTheyAreTriedAllTheSame() async throws {
    let ports = [try FreePort.next(), try FreePort.next()]
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(ports[0], ports[1]))
      #expect(await stage.failure(group, stage.request()) == .unreachable(.failed(111)))
      let upstream = try ScriptedUpstream(port: ports[1])
      defer { upstream.stop() }
      #expect(await stage.exchange(group, stage.request()).hasSuffix("hello"))
      group.closeIdle()
    }
  }

  @Test func eachServerSeesItsOwnNameAsHost() async throws {
    let upstreams = try (0..<2).map { _ in try ScriptedUpstream() }
    defer { for upstream in upstreams { upstream.stop() } }
    let ports = upstreams.map(\.port)
    try await UpstreamStage.run { stage in
      var settings = stage.settings(ports[0], ports[1])
      settings.host = .upstream
      let group = stage.group(settings)
      for _ in 0..<2 {
        let request = stage.request()
        request.head.removeAll()
        request.head.append("GET / HTTP/1.1\r\n")
        await stage.exchange(group, request)
      }
      group.closeIdle()
    }
    for (upstream, port) in zip(upstreams, ports) {
      #expect(upstream.requests.map { $0.message.value("Host") } == ["127.0.0.1:\(port)"])
    }
  }

  /// A server that takes one request on each connection and breaks the second one off without a word.
  private static let dyingServer: ScriptedUpstream.Script = { exchange in
    if exchange.target == "/die" { return exchange.close() }
    try exchange.answer("hello")
  }

  @Test func anIdempotentRequestIsSentOnceMoreWhenAReusedConnectionDies() async throws {
    let upstream = try ScriptedUpstream(Self.dyingServer)
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(upstream.port))
      await stage.exchange(group, stage.request())
      #expect(await stage.failure(group, stage.request("GET", "/die")) == .closedEarly)
      #expect(stage.gauge("active") == 0)
    }
    // On the reused connection, then on a fresh one, and no more.
    #expect(upstream.requests.map(\.message.target) == ["/", "/die", "/die"])
    #expect(upstream.requests.map(\.connection) == [0, 0, 1])
  }

  @Test func aRequestThatMayHaveHadAnEffectIsNeverSentTwice() async throws {
    let upstream = try ScriptedUpstream(Self.dyingServer)
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(upstream.port))
      await stage.exchange(group, stage.request())
      #expect(await stage.failure(group, stage.request("POST", "/die", isIdempotent: false)) == .closedEarly)
      // On a fresh connection no request is sent twice either.
      #expect(await stage.failure(group, stage.request("GET", "/die")) == .closedEarly)
    }
    #expect(upstream.requests.map(\.message.target) == ["/", "/die", "/die"])
  }

  @Test func anAnswerThatHasBegunIsNeverAskedForAgain() async throws {
    let upstream = try ScriptedUpstream { exchange in
      if exchange.target == "/" { return try exchange.answer("hello") }
      try exchange.send("H")
      exchange.close()
    }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(upstream.port))
      await stage.exchange(group, stage.request())
      #expect(await stage.exchange(group, stage.request("GET", "/begin")) == "H")
    }
    #expect(upstream.requests.count == 2)
  }

  @Test func aServerThatAnswersBeforeItHasReadAllIsHeard() async throws {
    let mayRead = Latch()
    let upstream = try ScriptedUpstream { exchange in
      exchange.connection.limitReceiveBuffer(4_096)
      try exchange.send("HTTP/1.1 103 Early Hints\r\n\r\n")
      mayRead.wait()
      try exchange.answer("hello")
    }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(upstream.port))
      let request = stage.request("PUT")
      let size = 32 << 20
      request.head.append("Content-Length: \(size)\r\n")
      request.body.append([UInt8](repeating: 0x78, count: size))
      let connection = try await group.forward(request, admission: stage.admission())
      #expect(connection.input.copied() == Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8))
      // The rest of the request is still there to be sent.
      #expect(connection.output.count > 0)
      mayRead.open()
      group.discard(connection)
      #expect(stage.gauge("active") == 0)
    }
  }

  @Test func nobodyWaitsLongerThanTheUpstreamsTimeout() async throws {
    let upstream = try ScriptedUpstream { _ = $0.waitForHangUp() }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      var settings = stage.settings(upstream.port)
      settings.responseTimeoutMilliseconds = 50
      #expect(await stage.failure(stage.group(settings), stage.request()) == .timedOut)
      #expect(stage.gauge("active") == 0)
      #expect(stage.gauge("idle") == 0)
    }
    #expect(eventually { upstream.openConnectionCount == 0 })
  }

  @Test func theRoutesTimeoutHoldsForTheAnswerAndForTheConnection() async throws {
    let upstream = try ScriptedUpstream { _ = $0.waitForHangUp() }
    defer { upstream.stop() }
    let silent = try SilentServer()
    try await UpstreamStage.run { stage in
      for port in [upstream.port, silent.port] {
        let request = stage.request()
        request.deadline = stage.loop.now.advanced(byMilliseconds: 50)
        #expect(await stage.failure(stage.group(stage.settings(port, port)), request) == .timedOut)
        #expect(request.serverName == "127.0.0.1:\(port)")
      }
      #expect(stage.gauge("active") == 0)
    }
  }

  @Test func aClientThatHangsUpIsNotWaitedFor() async throws {
    let upstream = try ScriptedUpstream { _ = $0.waitForHangUp() }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      stage.resetClientSoon()
      #expect(await stage.failure(stage.group(stage.settings(upstream.port)), stage.request()) == .abandoned)
      #expect(stage.gauge("active") == 0)
    }
    #expect(eventually { upstream.openConnectionCount == 0 })
  }

  @Test func aBodyThatFollowsIsLeftToTheCaller() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let group = stage.group(stage.settings(upstream.port))
      let request = stage.request("POST")
      request.bodyFollows = true
      let connection = try await group.forward(request, admission: stage.admission())
      #expect(connection.output.copied() == Array("POST / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
      group.discard(connection)
      #expect(stage.gauge("active") == 0)
    }
  }
}
