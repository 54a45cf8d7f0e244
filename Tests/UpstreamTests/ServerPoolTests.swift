import EventLoop
import Fixtures
import HTTP
import Testing

@testable import Upstream

/// What becomes of connections between exchanges, and of servers that cannot be reached.
@Suite struct ServerPoolTests {
  @Test func theConnectionUsedLastIsTakenFirst() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(upstream.port))
      let first = try await pool.connect(until: .never)
      let second = try await pool.connect(until: .never)
      #expect(stage.gauge("active") == 2)
      pool.giveBack(first, isReusable: true)
      pool.giveBack(second, isReusable: true)
      #expect(stage.gauge("active") == 0)
      #expect(stage.gauge("idle") == 2)
      let taken = pool.takeIdle()
      let isSecond = taken === second
      #expect(isSecond)
      #expect(taken?.isReused == true)
      #expect(stage.gauge("active") == 1)
      #expect(stage.gauge("idle") == 1)
      pool.giveBack(second, isReusable: false)
      pool.closeIdle()
      #expect(stage.gauge("active") == 0)
      #expect(stage.gauge("idle") == 0)
      #expect(!first.socket.isOpen && !second.socket.isOpen)
    }
  }

  @Test func noMoreConnectionsAreKeptThanTheLimit() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      var settings = stage.settings(upstream.port)
      settings.poolIdleMax = 2
      let pool = stage.pool(settings)
      var connections: [UpstreamConnection] = []
      for _ in 0..<4 { connections.append(try await pool.connect(until: .never)) }
      for connection in connections { pool.giveBack(connection, isReusable: true) }
      #expect(connections.map(\.socket.isOpen) == [true, true, false, false])
      #expect(stage.gauge("idle") == 2)
      #expect(stage.gauge("active") == 0)
      pool.closeIdle()
    }
  }

  @Test func bytesThatNobodyAskedForEndAnIdleConnection() async throws {
    let mayTalk = Latch()
    let upstream = try ScriptedUpstream { exchange in
      mayTalk.wait()
      try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
      _ = exchange.waitForHangUp()
    }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(upstream.port))
      let connection = try await pool.connect(until: .never)
      connection.output.append("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(connection.socket.write(from: &connection.output) == .complete)
      pool.giveBack(connection, isReusable: true)
      #expect(connection.socket.isOpen)
      mayTalk.open()
      #expect(await stage.holds { connection.socket.hasSomethingToRead })
      #expect(pool.takeIdle() == nil)
      #expect(!connection.socket.isOpen)
      #expect(stage.gauge("idle") == 0)
      #expect(stage.gauge("active") == 0)
    }
  }

  @Test func aConnectionWithSomethingUnsentOrUnreadIsNotKept() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(upstream.port))
      for isUnsent in [true, false] {
        let connection = try await pool.connect(until: .never)
        if isUnsent { connection.output.append("GET") } else { connection.input.append("HTTP") }
        pool.giveBack(connection, isReusable: true)
        #expect(!connection.socket.isOpen)
      }
      #expect(stage.gauge("idle") == 0)
    }
  }

  /// The connection of an answer to `HEAD`, or a 304, that announces a body.
  @Test func aConnectionWhoseAnswerAnnouncedABodyRestsBeforeItIsUsedAgain() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(upstream.port))
      let (plain, resting) = (try await pool.connect(until: .never), try await pool.connect(until: .never))
      let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".utf8)
      _ = resting.answer.parse(head.span, answering: .head, limits: HeadLimits())
      pool.giveBack(plain, isReusable: true)
      pool.giveBack(resting, isReusable: true)
      #expect(stage.gauge("idle") == 2)
      #expect(pool.takeIdle() === plain)
      #expect(pool.takeIdle() == nil)
      #expect(stage.gauge("idle") == 1)
      resting.idleSince = stage.loop.now
      #expect(pool.takeIdle() === resting)
      for connection in [plain, resting] { pool.giveBack(connection, isReusable: false) }
      #expect(pool.requestCount == 0)
    }
  }

  @Test func aSweepClosesWhatTheServerClosedAndWhatIsIdleForTooLong() async throws {
    let mayClose = Latch()
    let upstream = try ScriptedUpstream { exchange in
      mayClose.wait()
      exchange.close()
    }
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      var settings = stage.settings(upstream.port)
      settings.poolIdleTimeoutMilliseconds = 60_000
      let pool = stage.pool(settings)
      let closed = try await pool.connect(until: .never)
      closed.output.append("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = closed.socket.write(from: &closed.output)
      let kept = try await pool.connect(until: .never)
      pool.giveBack(closed, isReusable: true)
      pool.giveBack(kept, isReusable: true)
      pool.sweep()
      #expect(stage.gauge("idle") == 2)
      mayClose.open()
      #expect(await stage.holds { closed.socket.peerSendsNoMore })
      pool.sweep()
      #expect(!closed.socket.isOpen)
      #expect(kept.socket.isOpen)
      #expect(stage.gauge("idle") == 1)
      kept.idleSince = Instant(nanoseconds: stage.loop.now.nanoseconds - 60_000_000_000)
      pool.sweep()
      #expect(!kept.socket.isOpen)
      #expect(stage.gauge("idle") == 0)
    }
  }

  @Test func aConnectionThatIsIdleForTooLongIsNotTaken() async throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(upstream.port))
      let connection = try await pool.connect(until: .never)
      pool.giveBack(connection, isReusable: true)
      connection.idleSince = Instant(nanoseconds: stage.loop.now.nanoseconds - 55_000_000_000)
      #expect(pool.takeIdle() == nil)
      #expect(stage.gauge("idle") == 0)
    }
  }

  @Test func aServerThatRefusesIsPassedOverForAWhile() async throws {
    let port = try FreePort.next()
    try await UpstreamStage.run { stage in
      var settings = stage.settings(port)
      #expect(await stage.connectFailure(stage.pool(settings)) == .failed(111))
      settings.failurePauseMilliseconds = 60_000
      let long = stage.pool(settings)
      #expect(stage.isFailed(long) == false)
      #expect(await stage.connectFailure(long) == .failed(111))
      #expect(stage.isFailed(long) == true)
      #expect(long.state.condition == .down)
      settings.failurePauseMilliseconds = 10
      let pool = stage.pool(settings)
      #expect(await stage.connectFailure(pool) == .failed(111))
      #expect(await stage.holds { !stage.isFailed(pool) })
      #expect(pool.state.condition == .down)
      let upstream = try ScriptedUpstream(port: port)
      defer { upstream.stop() }
      let connection = try await pool.connect(until: .never)
      #expect(stage.isFailed(pool) == false)
      #expect(pool.state.condition == .up)
      pool.giveBack(connection, isReusable: false)
      #expect(stage.gauge("active") == 0)
    }
  }

  @Test func oneAloneTriesAServerThatFailedBefore() async throws {
    let silent = try SilentServer()
    try await UpstreamStage.run { stage in
      var settings = stage.settings(silent.port)
      settings.connectTimeoutMilliseconds = 200
      settings.failurePauseMilliseconds = 0
      // Two workers' views of one server.
      let servers = stage.servers(settings)
      let (pool, other) = (stage.pool(of: servers), stage.pool(of: servers))
      #expect(await stage.connectFailure(pool) == .timedOut)
      #expect(stage.isFailed(pool) == false)
      #expect(stage.isFailed(other) == false)
      #expect(pool.mayConnect())
      #expect(pool.state.condition == .halfOpen)
      #expect(stage.isFailed(pool) == true)
      #expect(stage.isFailed(other) == true)
      #expect(await stage.connectFailure(pool) == .timedOut)
      #expect(stage.isFailed(other) == false)
      #expect(pool.state.condition == .down)
    }
  }

  @Test func aRouteInAHurrySaysNothingAboutTheServer() async throws {
    let silent = try SilentServer()
    try await UpstreamStage.run { stage in
      let pool = stage.pool(stage.settings(silent.port))
      #expect(await stage.connectFailure(pool, until: stage.loop.now.advanced(byMilliseconds: 30)) == .timedOut)
      #expect(stage.isFailed(pool) == false)
      #expect(stage.gauge("active") == 0)
    }
  }
}

extension UpstreamStage {
  fileprivate func isFailed(_ pool: ServerPool) -> Bool { !pool.state.isAvailable(at: loop.now) }
}
