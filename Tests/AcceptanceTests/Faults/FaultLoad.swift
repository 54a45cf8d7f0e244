import Fixtures
import Glibc
import Synchronization
import Testing

/// Clients that go on while a test breaks something, and what must be true of all that they were answered.
final class FaultLoad: Sendable {
  let account: LoadAccount
  private let stage: FaultStage
  private let clients: [LoadClient]
  private let threads: [TestThread]
  private let isOver: Flag

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  init(_ clients: [LoadClient], _ account: LoadAccount, stage: FaultStage) {
    let isOver = Flag()
    self.account = account
    self.stage = stage
    self.clients = clients
    self.isOver = isOver
    threads = clients.map { client in
      TestThread { client.run { !isOver.value.load(ordering: .relaxed) } }
    }
  }

  deinit { isOver.value.store(true, ordering: .relaxed) }

  // MARK: Waiting

  /// Waits until each of the clients, all unless said otherwise, has had this outcome so often from now on.
  func wait(for label: String = LoadAccount.Outcome.done, count: Int = 10, by errands: (LoadClient.Errand) -> Bool = { _ in true }) throws {
    let start = monotonicMilliseconds()
    let waiting = clients.map(\.name).filter { errands($0.errand) }
    let hasCome = eventually(within: 20_000) {
      let counts = account.counts(from: start) { $0.label == label }
      return waiting.allSatisfy { counts[$0, default: 0] >= count }
    }
    guard hasCome else {
      let counts = account.counts(from: start) { $0.label == label }
      throw FixtureFailure("not everybody had '\(label)' \(count) times: \(counts)\n\(account.outcomes.suffix(20))\n\(stage.gate.log)")
    }
  }

  /// Ends the load and waits for its threads.
  private func stop() {
    isOver.value.store(true, ordering: .relaxed)
    for thread in threads { thread.join() }
  }

  // MARK: The fault

  /// When something was broken, in milliseconds.
  struct Fault {
    let start: Int
    let end: Int
  }

  /// Breaks something under load, mends it, and waits until everybody is served again.
  ///
  /// - Parameters:
  ///   - served: Who is served as always when nothing is broken.
  ///   - meanwhile: What happens between.
  func fault(
    served: (LoadClient.Errand) -> Bool = { _ in true }, breaking: () throws -> Void, meanwhile: (FaultLoad) throws -> Void,
    mending: () throws -> Void
  ) throws -> Fault {
    try wait(by: served)
    let start = monotonicMilliseconds()
    try breaking()
    try meanwhile(self)
    try mending()
    let end = monotonicMilliseconds()
    try wait(by: served)
    return Fault(start: start, end: end)
  }

  /// How soon after the end of a fault the last request may begin that still feels it. The product promises a second; twice as much
  /// again is for a machine whose few cores other tests use at the same time, and still less than any time-out or pause of the gate that
  /// could be at fault.
  static let recoveryMilliseconds = 3_000

  /// Ends the load and holds what must be true of it.
  ///
  /// - Parameters:
  ///   - fault: Outside of it everybody is served.
  ///   - allowed: What else than success each may be answered while it lasts.
  ///   - aftermath: What may come of it later too: a copy of a request that was accepted already, a key that is gone.
  func finish(
    _ fault: Fault, allowed: (LoadClient.Errand) -> Set<String>, aftermath: (LoadClient.Errand) -> Set<String>
  ) throws {
    stop()
    #expect(account.wrong.isEmpty)
    let refused = account.outcomes.filter { !$0.isDone }
    let early = refused.filter { $0.endedAt < fault.start }
    #expect(early.isEmpty, "before the fault, which began at \(fault.start)")
    let felt = refused.filter { !aftermath($0.client.errand).contains($0.label) }
    let other = felt.filter { !allowed($0.client.errand).contains($0.label) }
    #expect(other.isEmpty)
    let late = felt.filter { $0.startedAt > fault.end + Self.recoveryMilliseconds }
    #expect(late.isEmpty, "the fault ended at \(fault.end)")
    try expectNothingTwice()
  }

  /// No token of a signed request reached the upstream twice, not even now that all are sent once more.
  private func expectNothingTwice() throws {
    let ledger = stage.ledger
    let unheard = account.outcomes.filter { $0.isDone && !$0.token.isEmpty && ledger[$0.token] == nil }
    #expect(unheard.isEmpty, "answered, and the upstream knows nothing of it")
    let twice = try account.accepted.filter { try exchange(port: stage.gate.port, $0.text).status == 200 }
    #expect(twice.map { String($0.body.prefix(40)) }.isEmpty, "accepted a second time")
    // A GET on an open route may go out again on a fresh connection; nothing else may.
    let after = stage.ledger
    #expect(after.filter { $0.value > 1 && !$0.key.hasPrefix("open") }.isEmpty)
    #expect(after.filter { $0.value > 2 }.isEmpty)
  }

  /// How often each client's key was enrolled, after the end.
  var enrolmentCounts: [Int] { clients.map(\.enrolmentCount) }
}
