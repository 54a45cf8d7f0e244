import EventLoop
import HTTP
import Store
import Testing

@testable import Gate

@Suite struct KeyRateTests {
  private static let body = Array("{}".utf8)
  private static let rate = KeyRate(Rate(1, per: .hour), route: "/v1/**")

  @Test func aKeyThatComesTooOftenIsRefusedWithItsWaitAndIsNoBadKey() async throws {
    let fixture = try await GateFixture()
    fixture.policy.keyRate = Self.rate
    #expect(await fixture.judge(fixture.request(), body: Self.body).isVerified)
    let facts = fixture.request()
    for _ in 0..<2 {
      let outcome = await fixture.judge(facts, body: Self.body)
      let refusal = try #require(outcome.refusal)
      #expect(refusal.code == .rateLimited && refusal.status == 429 && refusal.recovery == .retryLater && refusal.challenge == nil)
      #expect(3_500...3_601 ~= refusal.retryAfterSeconds ?? 0)
      // The request says nothing about the app, so it is in none of the classes of the dashboard.
      #expect(outcome.decision?.decisionClass == nil && outcome.decision?.key == fixture.device.identifier)
    }
    // The same bytes pass where no rate stands in their way: nothing was used up.
    fixture.policy.keyRate = nil
    #expect(await fixture.judge(facts, body: Self.body).isVerified)
  }

  @Test func aMonitoredRouteTellsTheUpstreamInsteadOfRefusing() async throws {
    let fixture = try await GateFixture()
    fixture.policy.mode = .monitor
    fixture.policy.keyRate = Self.rate
    #expect(await fixture.judge(fixture.request(), body: Self.body).isVerified)
    let outcome = await fixture.judge(fixture.request(), body: Self.body)
    #expect(outcome.isUnverified)
    #expect(outcome.fields == "X-App-Attest-Status: unverified\r\nX-App-Attest-Reason: rate_limited\r\n")
  }
}
