import Bytes
import EventLoop
import Fixtures
import Glibc
import Synchronization
import Testing

/// An actor on a loop of its own, as the gate's workers are.
actor LoopActor {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  var kept: Socket?
  var otherHasRun = false

  init(_ loop: EventLoop) { self.loop = loop }

  func run<Result: Sendable>(_ body: @Sendable (isolated LoopActor, EventLoop) async throws -> Result) async rethrows -> Result {
    try await body(self, loop)
  }
}

extension LoopActor {
  func closeKept() { kept?.close() }

  func waitElsewhere(for socket: Socket) {
    kept = socket
    Task(executorPreference: loop) { await self.waitForKept() }
  }

  private func waitForKept() async {
    if let kept { _ = await loop.wait(for: .readable(kept), until: soon(loop)) }
  }

  func waitForASocketThatIsClosed() async throws -> Bool {
    let (client, server) = try await connectedPair(on: loop)
    kept = server
    Task(executorPreference: loop) { await self.closeKept() }
    let woken = await loop.wait(for: .readable(server), until: soon(loop))
    var input = ByteQueue()
    #expect(server.read(into: &input) != .wouldBlock)
    client.close()
    return woken
  }

  func start(_ count: Int, on thread: BackgroundThread, behind gate: Latch) -> [Task<Int?, Never>] {
    (0..<count).map { number in
      Task(executorPreference: loop) {
        await thread.run {
          gate.wait()
          return number
        }
      }
    }
  }
}

/// Counts how often it is told.
final class CountingObserver: ReadinessObserver {
  var count = 0
  override func becameReady() { count += 1 }
}

/// Holds a thread up until it is opened.
final class Latch: Sendable {
  private let isOpen = Mutex(false)
  func open() { isOpen.withLock { $0 = true } }
  func wait() { while !isOpen.withLock({ $0 }) { usleep(1_000) } }
}

/// Runs `body` on a fresh loop, as a task of that loop, and stops the loop.
func onLoop<Result: Sendable>(_ body: @escaping @Sendable (isolated LoopActor, EventLoop) async throws -> Result) async throws -> Result {
  let loop = EventLoop()
  loop.start(name: "test")
  defer { loop.stop() }
  let actor = LoopActor(loop)
  return try await Task(executorPreference: loop) { try await actor.run(body) }.value
}

/// A listener on loopback and both ends of one connection to it.
func connectedPair(on loop: EventLoop) async throws -> (client: Socket, server: Socket) {
  let listener = try ListeningSocket(SocketAddress(host: "127.0.0.1", port: 0)!)
  let acceptor = Acceptor(listener, loop: loop)
  let client = try await Socket.connect(to: listener.address, on: loop, until: loop.now.advanced(byMilliseconds: 5_000))
  #expect(await loop.wait(for: .readable(acceptor), until: loop.now.advanced(byMilliseconds: 5_000)))
  guard case .connection(let server) = acceptor.accept() else { throw SocketFailure.timedOut }
  acceptor.close()
  return (client, server)
}

func soon(_ loop: EventLoop) -> Instant { loop.now.advanced(byMilliseconds: 5_000) }

@Suite struct EventLoopTests {
  @Test func bytesCrossASocketPairAndTheEndIsSeen() async throws {
    let (text, end) = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      var out = ByteQueue()
      out.append("hello")
      #expect(client.write(from: &out) == .complete)
      #expect(await loop.wait(for: .readable(server), until: soon(loop)))
      var input = ByteQueue()
      #expect(server.read(into: &input) == .bytes(5))
      client.close()
      #expect(await loop.wait(for: .readable(server), until: soon(loop)))
      let end = server.read(into: &input)
      server.close()
      return (input.copied(), end)
    }
    #expect(text == Array("hello".utf8))
    #expect(end == .end)
  }

  @Test func aWaitEndsAtItsDeadline() async throws {
    let timedOut = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      defer {
        client.close()
        server.close()
      }
      return await loop.wait(for: .readable(server), until: loop.now.advanced(byMilliseconds: 20)) == false
    }
    #expect(timedOut)
  }

  @Test func anObserverIsToldOnceOfWhatCanBeReadOfADeadlineAndOfTheEnd() async throws {
    try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      let observer = CountingObserver()
      loop.tell(observer, of: server, until: soon(loop))
      for _ in 0..<2 {
        var out = ByteQueue()
        out.append("x")
        #expect(client.write(from: &out) == .complete)
        while !server.hasSomethingToRead { await loop.yield() }
        #expect(observer.count == 1)
        var input = ByteQueue()
        #expect(server.read(into: &input) == .bytes(1))
      }
      loop.tell(observer, of: server, until: loop.now)
      await loop.yield()
      await loop.yield()
      #expect(observer.count == 2)
      loop.tell(observer, of: server, until: soon(loop))
      server.close()
      #expect(observer.count == 3)
      client.close()
    }
  }

  @Test func anEarlierDeadlineAfterALaterOneIsKept() async throws {
    let elapsed = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      defer {
        client.close()
        server.close()
      }
      var out = ByteQueue()
      out.append("x")
      _ = client.write(from: &out)
      // The first wait schedules a far deadline, the second a near one on the same source.
      _ = await loop.wait(for: .readable(server), until: loop.now.advanced(byMilliseconds: 60_000))
      var input = ByteQueue()
      _ = server.read(into: &input)
      let start = Instant.now
      let ready = await loop.wait(for: .readable(server), until: loop.now.advanced(byMilliseconds: 20))
      #expect(!ready)
      return Instant.now.nanoseconds - start.nanoseconds
    }
    #expect(elapsed < 30_000_000_000)
  }

  @Test func theFirstOfSeveralAlternativesWinsAndIsResumedOnce() async throws {
    let outcomes = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      let (otherClient, otherServer) = try await connectedPair(on: loop)
      defer { for socket in [client, server, otherClient, otherServer] { socket.close() } }
      var outcomes: [WaitOutcome] = []
      var input = ByteQueue()
      for round in 0..<100 {
        var out = ByteQueue()
        out.append("x")
        _ = (round % 2 == 0 ? client : otherClient).write(from: &out)
        outcomes.append(await loop.wait(for: .readable(server), or: .readable(otherServer), until: soon(loop)))
        _ = (round % 2 == 0 ? server : otherServer).read(into: &input)
      }
      return outcomes
    }
    #expect(outcomes == (0..<100).map { .ready($0 % 2) })
  }

  @Test func aPeerThatShutsItsSendingHalfHasNotHungUp() async throws {
    let (outcome, answered) = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      client.shutDownWriting()
      let outcome = await loop.wait(for: .hangUp(server), or: .readable(server), until: soon(loop))
      var out = ByteQueue()
      out.append("answer")
      _ = server.write(from: &out)
      #expect(await loop.wait(for: .readable(client), until: soon(loop)))
      var input = ByteQueue()
      let answered = client.read(into: &input)
      client.close()
      server.close()
      return (outcome, answered)
    }
    #expect(outcome == .ready(1))
    #expect(answered == .bytes(6))
  }

  @Test func aSignalWakesItsWaiterAndIsRememberedOnce() async throws {
    let (first, second) = try await onLoop { _, loop in
      let signal = Signal(loop: loop)
      signal.notify()
      signal.notify()
      let first = await loop.wait(for: .signal(signal), until: soon(loop))
      let second = await loop.wait(for: .signal(signal), until: loop.now.advanced(byMilliseconds: 10))
      return (first, second)
    }
    #expect(first)
    #expect(!second)
  }

  @Test func twoTasksThatWaitForOneSourceAreATrap() async {
    await #expect(processExitsWith: .failure) {
      try await onLoop { actor, loop in
        let (client, server) = try await connectedPair(on: loop)
        actor.waitElsewhere(for: server)
        await loop.yield()
        _ = await loop.wait(for: .readable(server), until: soon(loop))
        client.close()
      }
    }
  }

  @Test func closingWakesWhoWaits() async throws {
    #expect(try await onLoop { actor, _ in try await actor.waitForASocketThatIsClosed() })
  }

  @Test func aRefusedConnectionFailsBeforeAByteIsSent() async throws {
    let failure = try await onLoop { _, loop -> SocketFailure? in
      let address = SocketAddress(host: "127.0.0.1", port: try FreePort.next())!
      do throws(SocketFailure) {
        _ = try await Socket.connect(to: address, on: loop, until: soon(loop))
        return nil
      } catch { return error }
    }
    #expect(failure == .failed(111))
  }

  @Test func aWriteLargerThanTheKernelTakesIsFinishedWithBackPressure() async throws {
    let total = 8 << 20
    let received = try await onLoop { actor, loop in
      let (client, server) = try await connectedPair(on: loop)
      var out = ByteQueue()
      out.append([UInt8](repeating: 7, count: total))
      var head = ByteQueue()
      head.append("head")
      var blocked = 0
      var received = 0
      var input = ByteQueue()
      while received < total + 4 {
        if !head.isEmpty || !out.isEmpty, client.write(from: &head, then: &out) == .wouldBlock { blocked += 1 }
        #expect(await loop.wait(for: .readable(server), until: soon(loop)))
        guard case .bytes(let count) = server.read(into: &input) else { break }
        received += count
        input.removeAll()
      }
      #expect(blocked > 0)
      client.close()
      server.close()
      return received
    }
    #expect(received == total + 4)
  }

  @Test func shortConnectionsLeaveNeitherSlotsNorTimersBehind() async throws {
    let (before, after) = try await onLoop { _, loop in
      let before = loop.registrationCount
      for _ in 0..<3_000 {
        let (client, server) = try await connectedPair(on: loop)
        _ = await loop.wait(for: .hangUp(server), or: .readable(client), until: loop.now)
        client.close()
        server.close()
      }
      return (before, loop.registrationCount)
    }
    #expect(before == after)
  }

  @Test func aFullBackgroundQueueIsRefusedAndTheRestRuns() async throws {
    let thread = BackgroundThread(name: "test", queueMax: 2)
    let gate = Latch()
    let results = try await onLoop { actor, loop in
      let tasks = actor.start(10, on: thread, behind: gate)
      var results: [Int?] = []
      await loop.yield()
      gate.open()
      for task in tasks { results.append(await task.value) }
      return results
    }
    let done = results.compactMap { $0 }
    // One piece of work may be under way while two wait; the rest finds the queue full.
    #expect(done.count == 2 || done.count == 3)
    #expect(done == done.sorted())
  }

  @Test func aNumericAddressIsParsedAndANameIsLookedUp() async throws {
    #expect(SocketAddress(host: "127.0.0.1", port: 80)?.host == "127.0.0.1")
    #expect(SocketAddress(host: "::1", port: 80)?.host == "::1")
    #expect(SocketAddress(host: "localhost", port: 80) == nil)
    let addresses = try await onLoop { _, _ in await NameResolver().resolve(host: "localhost", port: 81) }
    #expect(addresses.contains { $0.host == "127.0.0.1" || $0.host == "::1" })
    #expect(addresses.allSatisfy { $0.port == 81 })
  }
}

@Suite struct TemporaryFileTests {
  @Test func whatWasWrittenIsReadBackAndLeavesNoName() throws {
    let file = try TemporaryFile(folder: "/tmp")
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let isWritten = file.write(bytes.span, at: 0) && file.write(bytes.span, at: bytes.count)
    #expect(isWritten)
    var queue = ByteQueue()
    let isRead = file.read(bytes.count, at: bytes.count, into: &queue)
    #expect(isRead)
    #expect(queue.copied() == bytes)
    let isReadBeyondTheEnd = file.read(1, at: 2 * bytes.count, into: &queue)
    #expect(!isReadBeyondTheEnd)
  }

  @Test func aFolderThatDoesNotExistIsAFailure() {
    #expect(throws: SocketFailure.self) { try TemporaryFile(folder: "/nonexistent") }
  }
}
