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
    var accepted: [LoadClient.Name: [SignedRequest]] = [:]
  }
  private let state = Mutex(State())

  /// How many accepted requests of each client are kept, to be sent again.
  static let acceptedMax = 20

  func add(_ outcome: Outcome) { state.withLock { $0.outcomes.append(outcome) } }

  /// An answer that nobody should ever get.
  func addWrong(_ text: String) { state.withLock { $0.wrong.append(text) } }

  func addAccepted(_ request: SignedRequest, by client: LoadClient.Name) {
    state.withLock { $0.accepted[client] = ($0.accepted[client, default: []] + [request]).suffix(Self.acceptedMax) }
  }

  var outcomes: [Outcome] { state.withLock { $0.outcomes } }
  var wrong: [String] { state.withLock { $0.wrong } }
  var accepted: [SignedRequest] { state.withLock { $0.accepted.values.flatMap { $0 } } }

  /// How many requests of each client had this outcome.
  func counts(from: Int = 0, where isCounted: (Outcome) -> Bool) -> [LoadClient.Name: Int] {
    state.withLock { state in
      state.outcomes.reduce(into: [:]) { if $1.startedAt >= from, isCounted($1) { $0[$1.client, default: 0] += 1 } }
    }
  }
}
