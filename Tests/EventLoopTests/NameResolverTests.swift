import Synchronization
import Testing

@testable import EventLoop

/// Names that are looked up on another thread, for loops that cannot wait for long.
@Suite struct NameResolverTests {
  private static let first = SocketAddress(host: "127.0.0.1", port: 80)!
  private static let second = SocketAddress(host: "127.0.0.2", port: 80)!

  /// A name server that answers when it is told to, and counts the questions.
  private final class NameServer: Sendable {
    let mayAnswer = Latch()
    private let state = Mutex<(answer: [SocketAddress], questions: Int)>(([], 0))

    var questions: Int { state.withLock { $0.questions } }
    func answer(with addresses: [SocketAddress]) { state.withLock { $0.answer = addresses } }

    func resolver() -> NameResolver {
      NameResolver { _, _ in
        self.state.withLock { $0.questions += 1 }
        self.mayAnswer.wait()
        return self.state.withLock { $0.answer }
      }
    }
  }

  @Test func aNumericAddressIsNotLookedUp() async throws {
    let server = NameServer()
    let resolver = server.resolver()
    let addresses = try await onLoop { _, loop in await resolver.addresses(of: "127.0.0.1", port: 80, on: loop, until: soon(loop)) }
    #expect(addresses == [Self.first])
    #expect(server.questions == 0)
    server.mayAnswer.open()
  }

  @Test func nobodyWaitsLongerThanTheDeadlineAndTheAnswerIsKeptForTheNext() async throws {
    let server = NameServer()
    server.answer(with: [Self.first])
    let resolver = server.resolver()
    let (late, then) = try await onLoop { _, loop in
      let late = await resolver.addresses(of: "api", port: 80, on: loop, until: loop.now.advanced(byMilliseconds: 20))
      server.mayAnswer.open()
      return (late, await resolver.addresses(of: "api", port: 80, on: loop, until: soon(loop)))
    }
    #expect(late == [])
    #expect(then == [Self.first])
    #expect(server.questions == 1)
  }

  @Test func whoAsksAtTheSameTimeSharesOneLookUp() async throws {
    let server = NameServer()
    server.answer(with: [Self.first])
    let resolver = server.resolver()
    let found = try await onLoop { actor, loop in
      let tasks = actor.resolve("api", count: 10, with: resolver)
      server.mayAnswer.open()
      var found: [[SocketAddress]] = []
      for task in tasks { found.append(await task.value) }
      return found
    }
    #expect(found == Array(repeating: [Self.first], count: 10))
    #expect(server.questions == 1)
  }

  @Test func addressesThatDidNotServeAreWaitedForAnew() async throws {
    let server = NameServer()
    server.answer(with: [Self.first])
    server.mayAnswer.open()
    let resolver = server.resolver()
    let found = try await onLoop { _, loop in
      var found: [[SocketAddress]] = []
      found.append(await resolver.addresses(of: "api", port: 80, on: loop, until: soon(loop)))
      server.answer(with: [Self.second])
      found.append(await resolver.addresses(of: "api", port: 80, on: loop, until: soon(loop)))
      resolver.distrust(host: "api", port: 80)
      found.append(await resolver.addresses(of: "api", port: 80, on: loop, until: soon(loop)))
      // A name server that fails does not take away what it said before.
      server.answer(with: [])
      resolver.distrust(host: "api", port: 80)
      found.append(await resolver.addresses(of: "api", port: 80, on: loop, until: soon(loop)))
      return found
    }
    #expect(found == [[Self.first], [Self.first], [Self.second], [Self.second]])
    #expect(server.questions == 3)
  }
}

extension LoopActor {
  fileprivate func resolve(_ host: String, count: Int, with resolver: NameResolver) -> [Task<[SocketAddress], Never>] {
    (0..<count).map { _ in
      Task(executorPreference: loop) { [loop] in await resolver.addresses(of: host, port: 80, on: loop, until: soon(loop)) }
    }
  }
}
