import Fixtures
import Synchronization

/// Clients that ask without a pause, some on connections that they keep, some on a new one for each request, and that want every
/// request answered.
final class Load: Sendable {
  private struct State {
    var isOver = false
    var answeredCount = 0
    var failures: [String] = []
  }

  private let state = Mutex(State())
  private let threads = Mutex([TestThread]())
  private static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  /// Begins.
  init(port: UInt16, keeping: Int = 3, connecting: Int = 2) {
    threads.withLock { threads in
      for _ in 0..<keeping { threads.append(TestThread { [self] in keep(port) }) }
      for _ in 0..<connecting { threads.append(TestThread { [self] in connect(port) }) }
    }
  }

  /// Requests that were answered so far.
  var answeredCount: Int { state.withLock { $0.answeredCount } }

  /// Waits until so many more were answered; false when that takes too long.
  func goesOn(_ count: Int = 50) -> Bool {
    let before = answeredCount
    return eventually(within: 20_000) { answeredCount >= before + count }
  }

  /// Ends, and says what went wrong.
  func end() -> [String] {
    state.withLock { $0.isOver = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
    return state.withLock { $0.failures }
  }

  private var isOver: Bool { state.withLock { $0.isOver } }

  private func keep(_ port: UInt16) {
    var connection: RawConnection?
    while !isOver {
      record {
        let kept = try connection ?? RawConnection(port: port)
        connection = nil
        let answer = try kept.exchange(Self.request)
        if answer.value("Connection") != "close" { connection = kept }
        return answer
      }
    }
  }

  private func connect(_ port: UInt16) {
    while !isOver { record { try exchange(port: port, Self.request) } }
  }

  private func record(_ request: () throws -> RawMessage) {
    do {
      let answer = try request()
      state.withLock { state in
        state.answeredCount += 1
        if answer.status != 200 { state.failures.append("status \(answer.status)") }
      }
    } catch {
      state.withLock { $0.failures.append("\(error)") }
    }
  }
}
