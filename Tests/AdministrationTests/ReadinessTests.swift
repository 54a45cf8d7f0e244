import EventLoop
import Store
import Testing

@testable import Administration

/// Whether a load balancer is told to send requests.
@Suite struct ReadinessTests {
  private static let now = Instant(nanoseconds: 100_000_000_000)

  private static func store(isUp: Bool, forMilliseconds milliseconds: UInt64) -> StoreHealth {
    StoreHealth(isUp: isUp, since: Instant(nanoseconds: now.nanoseconds - milliseconds * 1_000_000), lastFailure: "closed")
  }

  @Test(arguments: [Readiness.Phase.starting, .draining], [true, false])
  func nothingButServingIsReady(phase: Readiness.Phase, needsStore: Bool) {
    let state = Readiness(phase: phase, needsStore: needsStore)
    for isUp in [true, false] { #expect(!state.isReady(store: Self.store(isUp: isUp, forMilliseconds: 10), now: Self.now)) }
    #expect(!state.isReady(store: nil, now: Self.now))
  }

  @Test(arguments: [(0, true), (1_000, true), (4_999, true), (5_000, false), (60_000, false)] as [(UInt64, Bool)])
  func aGateThatServesNothingWithoutItsStoreWaitsForItAWhile(milliseconds: UInt64, isReady: Bool) {
    let state = Readiness(phase: .serving, needsStore: true)
    #expect(state.isReady(store: Self.store(isUp: false, forMilliseconds: milliseconds), now: Self.now) == isReady)
  }

  @Test func aStoreThatIsBackCountsAtOnce() {
    let state = Readiness(phase: .serving, needsStore: true)
    #expect(state.isReady(store: Self.store(isUp: true, forMilliseconds: 0), now: Self.now))
  }

  @Test func aGateWithOtherRoutesStaysReadyHoweverLongTheStoreIsAway() {
    let state = Readiness(phase: .serving, needsStore: false)
    #expect(state.isReady(store: Self.store(isUp: false, forMilliseconds: 90_000), now: Self.now))
  }
}
