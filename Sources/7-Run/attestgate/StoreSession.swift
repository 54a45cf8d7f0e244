import EventLoop
import Store
import Synchronization

/// Isolates a command's way to the store to a loop, as a worker isolates its own.
actor StoreSession {
  private nonisolated let loop = EventLoop()
  private nonisolated let result = Mutex<Int32?>(nil)

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private var store: RedisStore?

  private init() {}

  /// Connects, runs `body`, and gives its exit code, with the calling thread as the loop's.
  ///
  /// A command does not wait for a store that is away: the first attempt decides.
  static func run(
    _ settings: RedisSettings, name: String, _ body: @escaping @Sendable (RedisStore) async throws(StoreFailure) -> Int32
  ) -> Int32 {
    let session = StoreSession()
    Task(executorPreference: session.loop) { await session.work(settings, name, body) }
    session.loop.run()
    return session.result.withLock { $0 } ?? ExitCode.failed
  }

  private func work(
    _ settings: RedisSettings, _ name: String, _ body: @Sendable (RedisStore) async throws(StoreFailure) -> Int32
  ) async {
    let store = RedisStore(settings: settings, loop: loop, resolver: NameResolver())
    self.store = store
    let changed = Signal(loop: loop)
    store.onHealthChange = { _ in changed.notify() }
    Task(executorPreference: loop) { await self.keepOpen() }
    while !store.health.isUp && store.health.lastFailure == nil { _ = await loop.wait(for: .signal(changed), until: .never) }
    var code = ExitCode.failed
    do throws(StoreFailure) {
      if store.health.isUp {
        code = try await body(store)
      } else {
        StandardError.write("attestgate \(name): \(store.health.lastFailure ?? "the store is away") (store.redis of the configuration)\n")
      }
    } catch {
      let doubt = error.outcomeUnknown ? "; whether it was done is not known, look with attestgate keys show" : ""
      StandardError.write("attestgate \(name): \(error.reason)\(doubt)\n")
    }
    result.withLock { $0 = code }
    store.stop()
    loop.stop()
  }

  private func keepOpen() async { await store?.run() }
}
