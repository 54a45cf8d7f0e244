import Glibc
import Synchronization

/// A thread of a fixture's own, so that servers and clients that block do not hold up the threads on which tests run.
public final class TestThread: Sendable {
  private let handle: Mutex<pthread_t?>

  /// Starts the thread.
  public init(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Body(body))
    let result = pthread_create(
      &thread, nil,
      { argument in
        Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, box.toOpaque())
    precondition(result == 0, "pthread_create failed")
    handle = Mutex(thread)
  }

  /// Waits for its end.
  public func join() {
    guard let thread = handle.withLock({ $0.take() }) else { return }
    pthread_join(thread, nil)
  }

  deinit {
    if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}

/// What was thrown, or came out, where several threads worked side by side.
public func onThreads<Result: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Result) throws -> [Result] {
  let results = Mutex([Int: Swift.Result<Result, any Error>]())
  let shared = Shared(results)
  let threads = (0..<count).map { index in
    TestThread { shared.store(index, Swift.Result { try body(index) }) }
  }
  for thread in threads { thread.join() }
  return try (0..<count).map { try shared.take($0).get() }
}

private final class Shared<Result: Sendable>: Sendable {
  private let results: Mutex<[Int: Swift.Result<Result, any Error>]>
  init(_ results: consuming Mutex<[Int: Swift.Result<Result, any Error>]>) { self.results = results }
  func store(_ index: Int, _ result: Swift.Result<Result, any Error>) { results.withLock { $0[index] = result } }
  func take(_ index: Int) -> Swift.Result<Result, any Error> { results.withLock { $0[index]! } }
}
