import Bytes
import Testing

@testable import EventLoop

/// What keeps one task from having the loop to itself.
@Suite struct FairnessTests {
  @Test func aTaskThatHasHeldTheLoopForLongLetsOthersRun() async throws {
    let turns = try await onLoop { actor, loop in
      actor.startOther()
      var turns = 0
      while !actor.otherHasRun && turns < 1_000_000 {
        turns += 1
        await loop.giveWay()
      }
      return turns
    }
    #expect(turns < 1_000_000)
  }

  @Test func aCloseThatLingersLetsThePeerReadItsLastAnswer() async throws {
    let (answer, isReset) = try await onLoop { actor, loop in
      let (client, server) = try await connectedPair(on: loop)
      var output = ByteQueue()
      output.append("answer")
      _ = server.write(from: &output)
      // Unread bytes: a close at once would be a reset.
      output.append("still sending")
      _ = client.write(from: &output)
      _ = await loop.wait(for: .readable(server), until: soon(loop))
      actor.closeLingering(server)
      var input = ByteQueue()
      var last = ReadOutcome.wouldBlock
      while last == .wouldBlock || last == .bytes(6) {
        _ = await loop.wait(for: .readable(client), until: soon(loop))
        last = client.read(into: &input)
      }
      client.close()
      return (input.copied(), last != .end)
    }
    #expect(answer == Array("answer".utf8))
    #expect(!isReset)
  }

  @Test(arguments: [0, 1_000]) func aCloseThatLingersEndsAtItsDeadline(bytesMax: Int) async throws {
    let isClosed = try await onLoop { _, loop in
      let (client, server) = try await connectedPair(on: loop)
      var output = ByteQueue()
      output.append([UInt8](repeating: 0, count: 10_000))
      _ = client.write(from: &output)
      await server.closeLingering(bytesMax: bytesMax, until: loop.now.advanced(byMilliseconds: 30))
      defer { client.close() }
      return !server.isOpen
    }
    #expect(isClosed)
  }
}

extension LoopActor {
  fileprivate func startOther() { Task(executorPreference: loop) { await self.run() } }
  private func run() { otherHasRun = true }

  fileprivate func closeLingering(_ socket: Socket) {
    kept = socket
    Task(executorPreference: loop) { await self.closeKeptLingering() }
  }
  private func closeKeptLingering() async { await kept?.closeLingering(bytesMax: 1 << 16, until: soon(loop)) }
}
