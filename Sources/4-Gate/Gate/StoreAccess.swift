import AppAttest
import EventLoop
import Store

/// One request's questions to the store: they are timed, and a monitored request has only so much time for all of them together.
struct StoreAccess {
  private let store: any Store
  private let clock: GateClock
  private let nanosecondsMax: UInt64?
  /// Waited for so far.
  private(set) var nanoseconds: UInt64 = 0

  init(_ store: any Store, clock: GateClock, millisecondsMax: Int?) {
    self.store = store
    self.clock = clock
    nanosecondsMax = millisecondsMax.map { UInt64($0) * 1_000_000 }
  }

  mutating func enrolledKey(among candidates: [KeyIdentifier]) async throws(StoreFailure) -> EnrolledKey? {
    let start = clock.monotonic()
    do throws(StoreFailure) {
      let key = try await store.enrolledKey(among: candidates, until: deadline(from: start))
      count(from: start)
      return key
    } catch {
      count(from: start)
      throw error
    }
  }

  mutating func commit(_ commit: Commit) async throws(StoreFailure) -> CommitOutcome {
    let start = clock.monotonic()
    do throws(StoreFailure) {
      let outcome = try await store.commit(commit, until: deadline(from: start))
      count(from: start)
      return outcome
    } catch {
      count(from: start)
      throw error
    }
  }

  private func deadline(from start: Instant) -> Instant {
    guard let nanosecondsMax else { return .never }
    return start.advanced(byNanoseconds: nanosecondsMax > nanoseconds ? nanosecondsMax - nanoseconds : 0)
  }

  private mutating func count(from start: Instant) {
    let end = clock.monotonic()
    if start < end { nanoseconds += end.nanoseconds - start.nanoseconds }
  }
}
