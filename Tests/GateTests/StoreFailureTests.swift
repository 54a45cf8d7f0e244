import AppAttest
import Cryptography
import EventLoop
import HTTP
import Store
import Testing

@testable import Gate

@Suite struct StoreFailureTests {
  static let away = StoreFailure(outcomeUnknown: false, reason: "connection refused by 10.0.0.9")
  static let unknown = StoreFailure(outcomeUnknown: true, reason: "timed out")

  private func fixture(allow: Bool = false, isCached: Bool = true) async throws -> GateFixture {
    let fixture = try await GateFixture()
    if isCached { #expect(await fixture.judge(fixture.request(), body: GateTests.body).isVerified) }
    fixture.policy.admitsOnStoreFailure = allow
    return fixture
  }

  @Test func whileTheStoreIsAwayARequestIsRefusedAndCanComeBack() async throws {
    let fixture = try await fixture(isCached: false)
    let facts = fixture.request()
    fixture.store.lookUpFailure = Self.away
    let outcome = await fixture.judge(facts, body: GateTests.body)
    #expect(outcome.code == .storeUnavailable)
    #expect(outcome.refusal?.retryAfterSeconds == 1)
    #expect(outcome.refusal?.challenge == nil)
    #expect(outcome.refusal?.detail.contains("10.0.0.9") == false)
    #expect(outcome.decision?.storeFailure == Self.away.reason)
    fixture.store.lookUpFailure = nil
    #expect(await fixture.judge(facts, body: GateTests.body).isVerified)
  }

  @Test func aCommitThatWasNotSentIsRefusedAndCanComeBack() async throws {
    let fixture = try await fixture()
    let facts = fixture.request()
    fixture.store.commitFailure = Self.away
    let outcome = await fixture.judge(facts, body: GateTests.body)
    #expect(outcome.code == .storeUnavailable)
    #expect(outcome.refusal?.detail != "outcome: unknown")
    fixture.store.commitFailure = nil
    #expect(await fixture.judge(facts, body: GateTests.body).isVerified)
  }

  @Test(arguments: [false, true])
  func aCommitOfUnknownOutcomeIsRefusedEvenWhereStoreFailuresAreAdmitted(allow: Bool) async throws {
    let fixture = try await fixture(allow: allow)
    fixture.store.commitFailure = Self.unknown
    let outcome = await fixture.judge(fixture.request(), body: GateTests.body)
    #expect(outcome.code == .storeUnavailable)
    #expect(outcome.refusal?.status == 503)
    #expect(outcome.refusal?.detail == "outcome: unknown")
  }

  @Test(arguments: [true, false], [true, false])
  func aRouteThatAdmitsStoreFailuresAdmitsAGoodRequestAsUnverified(isCached: Bool, namesKey: Bool) async throws {
    let fixture = try await fixture(allow: true, isCached: isCached)
    fixture.store.lookUpFailure = Self.away
    fixture.store.commitFailure = Self.away
    let outcome = await fixture.judge(fixture.request { $0.namesKeyInHeader = namesKey }, body: GateTests.body)
    #expect(outcome.isUnverified)
    #expect(outcome.fields == "X-App-Attest-Status: unverified\r\nX-App-Attest-Reason: store_unavailable\r\n")
    #expect(outcome.verifiedKey == nil)
    #expect(outcome.decision?.reason == .storeUnavailable)
    #expect(outcome.decision?.storeFailure == Self.away.reason)
  }

  /// Every check that needs no store still holds.
  @Test(arguments: [
    RefusalCase(.assertionMissing, "no assertion") { $1.sentAssertion = .absent },
    RefusalCase(.clientDataMalformed, "no client data") { $1.sentClientData = .one([]) },
    RefusalCase(.methodMismatch, "another method") { $1.method = "PUT" },
    RefusalCase(.queryUnbound, "an unsigned query") { $1.query = "a" },
    RefusalCase(.challengeUnknown, "a challenge of one's own") { $1.challenge = Array("abc".utf8) },
    RefusalCase(.challengeExpired, "an old challenge") { fixture, parts in
      parts.challenge = fixture.challenge(seconds: 1)
      fixture.time.unixSeconds += 10
    },
    RefusalCase(.challengeWrongPurpose, "another purpose") { $1.challenge = $0.challenge(.attest) },
    RefusalCase(.rpIDMismatch, "another app") { $1.signsForApp = AppIdentity(prefix: "X", bundleIdentifier: "y") },
    RefusalCase(.appNotAllowed, "an app that the route does not admit") { $1.signsForApp = TestDevice.bank },
    RefusalCase(.counterReplayed, "a counter of zero") { $1.counter = 0 },
    RefusalCase(.bodyMismatch, "another body", body: Array("[]".utf8)) { _, _ in },
    RefusalCase(.bodyMismatch, "no body where one was signed") { $1.body = [] },
  ])
  func aRouteThatAdmitsStoreFailuresAdmitsNoBadRequest(refusal: RefusalCase) async throws {
    for namesKey in [false, true] {
      let fixture = try await fixture(allow: true, isCached: false)
      fixture.store.lookUpFailure = Self.away
      fixture.store.commitFailure = Self.away
      var parts = SignedRequestParts(device: fixture.device, challenge: fixture.challenge())
      parts.namesKeyInHeader = namesKey
      try await refusal.spoil(fixture, &parts)
      #expect(await fixture.judge(parts.facts, body: refusal.body).code == refusal.code)
    }
  }

  @Test func aSignatureIsStillVerifiedWhereTheKeyIsCached() async throws {
    let fixture = try await fixture(allow: true)
    fixture.store.lookUpFailure = Self.away
    fixture.store.commitFailure = Self.away
    let bad = fixture.request {
      $0.namesKeyInHeader = true
      $0.changesClientData = { $0 + [0x20] }
    }
    #expect(await fixture.judge(bad, body: GateTests.body).code == .signatureInvalid)
  }

  @Test func aStoreThatWasNeverReachedAdmitsNothing() async throws {
    for allow in [false, true] {
      let fixture = try await fixture(allow: allow)
      let facts = fixture.request()
      fixture.store.isReached = false
      let outcome = await fixture.judge(facts, body: GateTests.body)
      #expect(outcome.code == .storeUnavailable)
      // Without secrets there is no challenge to offer either.
      let missing = await fixture.judge(fixture.request { $0.sentAssertion = .absent })
      #expect(missing.code == .assertionMissing)
      #expect(missing.refusal?.challenge == nil)
    }
  }

  @Test func aLookUpOfUnknownOutcomeChangesNothingAndIsLikeAnyOtherFailure() async throws {
    let fixture = try await fixture(allow: true, isCached: false)
    fixture.store.lookUpFailure = Self.unknown
    #expect(await fixture.judge(fixture.request(), body: GateTests.body).isUnverified)
    fixture.policy.admitsOnStoreFailure = false
    #expect(await fixture.judge(fixture.request(), body: GateTests.body).refusal?.detail != "outcome: unknown")
  }
}

@Suite struct MonitorTests {
  private func fixture() async throws -> GateFixture {
    let fixture = try await GateFixture()
    fixture.policy.mode = .monitor
    return fixture
  }

  @Test func aGoodRequestIsVerifiedAndCommitted() async throws {
    let fixture = try await fixture()
    let facts = fixture.request()
    let outcome = await fixture.judge(facts, body: GateTests.body)
    #expect(outcome.isVerified)
    #expect(outcome.decision?.mode == .monitor)
    let again = await fixture.judge(facts, body: GateTests.body)
    #expect(again.isUnverified)
    #expect(again.fields == "X-App-Attest-Status: unverified\r\nX-App-Attest-Reason: assertion_already_accepted\r\n")
  }

  @Test(arguments: RefusalTests.all)
  func aFailedCheckIsToldToTheUpstreamAndNeverAnsweredFor(refusal: RefusalCase) async throws {
    let fixture = try await fixture()
    var parts = SignedRequestParts(device: fixture.device, challenge: fixture.challenge())
    try await refusal.spoil(fixture, &parts)
    let outcome = await fixture.judge(parts.facts, body: refusal.body)
    #expect(outcome.refusal == nil)
    #expect(outcome.fields == "X-App-Attest-Status: unverified\r\nX-App-Attest-Reason: \(refusal.code.rawValue)\r\n")
    #expect(outcome.decision?.decisionClass == DecisionClass(failure: refusal.code))
    #expect(outcome.decision?.mode == .monitor)
  }

  @Test func aBodyThatProvesTooLargeIsUnverifiedAndConsumesNothing() async throws {
    let fixture = try await fixture()
    fixture.policy.bodyBytesMax = 1
    let facts = fixture.request().with(body: .unknown)
    let outcome = await fixture.judge(facts, body: GateTests.body)
    #expect(outcome.isUnverified)
    #expect(outcome.decision?.reason == .bodyTooLarge)
    #expect(fixture.store.commits.isEmpty)
  }

  @Test(arguments: [StoreFailureTests.away, StoreFailureTests.unknown])
  func aStoreFailureIsUnverifiedToo(failure: StoreFailure) async throws {
    let fixture = try await fixture()
    fixture.store.commitFailure = failure
    let outcome = await fixture.judge(fixture.request(), body: GateTests.body)
    #expect(outcome.isUnverified)
    #expect(outcome.decision?.reason == .storeUnavailable)
  }

  @Test func theStoreIsWaitedForAHundredMillisecondsInAll() async throws {
    let fixture = try await fixture()
    let start = fixture.time.monotonic
    let time = fixture.time
    fixture.store.beforeAnswer = { _ in time.monotonic = time.monotonic.advanced(byMilliseconds: 70) }
    let outcome = await fixture.judge(fixture.request(), body: GateTests.body)
    #expect(fixture.store.deadlines == [start.advanced(byMilliseconds: 100), start.advanced(byMilliseconds: 70 + 30)])
    #expect(outcome.decision?.storeNanoseconds == 140_000_000)
  }

  @Test func anEnforcedRequestWaitsAsLongAsTheStoreDoes() async throws {
    let fixture = try await fixture()
    fixture.policy.mode = .enforce
    #expect(await fixture.judge(fixture.request(), body: GateTests.body).isVerified)
    #expect(fixture.store.deadlines == [.never, .never])
  }
}
