import EventLoop
import Fixtures
import Testing

@testable import Store

/// An actor on a loop of its own, as the gate's workers are.
actor TestLoop {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private init(_ loop: EventLoop) { self.loop = loop }

  private func call<Result: Sendable>(_ body: @Sendable (isolated TestLoop) async throws -> Result) async rethrows -> Result {
    try await body(self)
  }

  /// Runs `body` as a task of a fresh loop, and stops the loop.
  static func run<Result: Sendable>(_ body: @escaping @Sendable (isolated TestLoop) async throws -> Result) async throws -> Result {
    let loop = EventLoop()
    loop.start(name: "test")
    defer { loop.stop() }
    let actor = TestLoop(loop)
    return try await Task(executorPreference: loop) {
      do {
        let result = try await actor.call(body)
        await actor.closeStores()
        return result
      } catch {
        await actor.closeStores()
        throw error
      }
    }.value
  }

  /// Runs `body` with a Redis store that keeps itself connected.
  static func withStore<Result: Sendable>(
    _ settings: RedisSettings, _ body: @escaping @Sendable (isolated TestLoop, RedisStore) async throws -> Result
  ) async throws -> Result {
    try await run { worker in try await body(worker, worker.open(settings)) }
  }

  var kept: RedisStore?
  private var stores: [RedisStore] = []
  private var running: [Task<Void, Never>] = []

  /// One more store on this loop.
  func open(_ settings: RedisSettings) -> RedisStore {
    let store = RedisStore(settings: settings, loop: loop, resolver: NameResolver())
    let index = stores.count
    stores.append(store)
    running.append(Task(executorPreference: loop) { await self.keepOpen(index) })
    return store
  }

  private func keepOpen(_ index: Int) async { await stores[index].run() }

  /// A store that was stopped ends its `run` by itself.
  private func closeStores() async {
    for store in stores { store.stop() }
    for task in running { await task.value }
    stores = []
  }

  /// Looks every 2 ms whether `condition` holds; false when it does not within `seconds`.
  func holds(within seconds: Double = 10, _ condition: () async -> Bool) async -> Bool {
    let deadline = Instant.now.advanced(byMilliseconds: Int(seconds * 1_000))
    while await !condition() {
      if deadline < Instant.now { return false }
      await loop.sleep(until: Instant.now.advanced(byMilliseconds: 2))
    }
    return true
  }
}

/// The two stores, which must not differ.
enum StoreKind: String, CaseIterable, Sendable {
  case memory, redis

  /// Runs `body` with a store of this kind that is up and empty.
  func withStore<Result: Sendable>(
    _ body: @escaping @Sendable (isolated TestLoop, any Store) async throws -> Result
  ) async throws -> Result {
    switch self {
    case .memory:
      return try await TestLoop.run { worker in try await body(worker, MemoryStoreClient(MemoryStore())) }
    case .redis:
      let server = try RedisServer()
      return try await TestLoop.withStore(server.settings) { worker, store in
        #expect(await worker.holds { store.health.isUp })
        return try await body(worker, store)
      }
    }
  }
}

extension RedisServer {
  /// Settings for its Unix socket.
  var settings: RedisSettings { RedisSettings(endpoint: .unix(path: socketPath)) }
}
