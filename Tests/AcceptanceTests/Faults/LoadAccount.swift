import Fixtures
import Synchronization

/// What became of every request of a load, kept by the clients that sent them.
final class LoadAccount: Sendable {
  /// One request that was sent, and what came back.
  struct Outcome: Sendable {
    /// "200", status and code of a refusal, or "cut" where no whole answer came.
    let label: String
    let client: LoadClient.Name
    let token: String
    let startedAt: Int
    let endedAt: Int

    var isDone: Bool { label == Self.done }
    static let done = "200"
    static let cut = "cut"
  }

  private struct State {
    var outcomes: [Outcome] = []
    var wrong: [String] = []
    var accepted: [SignedRequest] = []
  }
  private let state = Mutex(State())

  func add(_ outcome: Outcome) { state.withLock { $0.outcomes.append(outcome) } }

  /// An answer that nobody should ever get.
  func addWrong(_ text: String) { state.withLock { $0.wrong.append(text) } }

  /// A signed request that was accepted, to be sent again later.
  func addAccepted(_ request: SignedRequest) { state.withLock { $0.accepted.append(request) } }

  var outcomes: [Outcome] { state.withLock { $0.outcomes } }
  var wrong: [String] { state.withLock { $0.wrong } }
  var accepted: [SignedRequest] { state.withLock { $0.accepted } }

  /// How many requests of each client had this outcome.
  func counts(from: Int = 0, where isCounted: (Outcome) -> Bool) -> [LoadClient.Name: Int] {
    state.withLock { state in
      state.outcomes.reduce(into: [:]) { if $1.startedAt >= from, isCounted($1) { $0[$1.client, default: 0] += 1 } }
    }
  }
}
