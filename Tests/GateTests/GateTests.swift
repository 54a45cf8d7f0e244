import AppAttest
import Bytes
import Cryptography
import HTTP
import Store
import Testing

@testable import Gate

@Suite struct GateTests {
  static let body = Array("{}".utf8)

  @Test(arguments: [false, true])
  func aSignedRequestIsAdmittedOnceAndNamesItsKeyToTheUpstream(namesKey: Bool) async throws {
    let fixture = try await GateFixture()
    for counter in 1...4 as ClosedRange<UInt32> {
      let outcome = await fixture.judge(fixture.request { $0.namesKeyInHeader = namesKey }, body: Self.body)
      #expect(outcome.isVerified)
      #expect(
        outcome.fields == """
          X-App-Attest-Status: verified\r
          X-App-Attest-Key-Id: \(fixture.device.identifier.base64)\r
          X-App-Attest-App: ABCDE12345.com.example.shop\r
          X-App-Attest-Environment: production\r
          X-App-Attest-Counter: \(counter)\r

          """)
      #expect(outcome.verifiedKey == fixture.device.identifier)
      #expect(outcome.decision?.decisionClass == .verified)
      #expect(outcome.decision?.counterDelta == 1)
      #expect(outcome.decision?.keyPrefix == String(fixture.device.identifier.base64.prefix(8)))
    }
  }

  @Test func theKeyIsLookedUpOnceAndEachRequestIsOneRoundTripThen() async throws {
    let fixture = try await GateFixture()
    for _ in 0..<3 { #expect(await fixture.judge(fixture.request(), body: Self.body).isVerified) }
    #expect(fixture.store.lookUps.count == 1)
    #expect(fixture.store.lookUps.first?.count == 2)
    #expect(fixture.store.commits.count == 3)
  }

  @Test func aRequestWithoutABodyIsJudgedAtOnce() async throws {
    let fixture = try await GateFixture()
    let outcome = await fixture.judge(
      fixture.request {
        $0.method = "GET"
        $0.signedMethod = "GET"
        $0.body = []
        $0.signedBody = []
      })
    #expect(outcome.isVerified)
  }

  @Test func theBodyIsAskedForOnlyAfterTheSignatureAndNothingIsConsumedBefore() async throws {
    let fixture = try await GateFixture()
    let facts = fixture.request()
    let examination = await fixture.gate.examine(facts, policy: fixture.policy, hint: nil)
    guard case .needsBody = examination else {
      Issue.record("the body was not asked for")
      return
    }
    #expect(fixture.store.commits.isEmpty)
    #expect(await fixture.judge(facts, body: Self.body).isVerified)
  }

  /// Between the last check and the store's word there is time to see that the request can be served at all.
  @Test func nothingIsConsumedByARequestThatPassedAndIsNotAdmitted() async throws {
    let fixture = try await GateFixture()
    let facts = fixture.request {
      $0.body = []
      $0.signedBody = []
    }
    guard case .judged(.passed) = await fixture.gate.examine(facts, policy: fixture.policy, hint: nil) else {
      Issue.record("not passed")
      return
    }
    #expect(fixture.store.commits.isEmpty)
    #expect(await fixture.judge(facts).isVerified)
  }

  @Test func anUnboundBodyIsNotWaitedFor() async throws {
    let fixture = try await GateFixture()
    fixture.policy.binding = [.method, .path]
    let facts = fixture.request { $0.signedBody = nil }.with(body: .unknown)
    guard case .admit(let admission) = await fixture.gate.verdict(facts, policy: fixture.policy) else {
      Issue.record("not admitted")
      return
    }
    #expect(Outcome(admission).isVerified)
  }

  @Test func aBodyThatWasSignedIsComparedThoughTheRouteDoesNotBindIt() async throws {
    let fixture = try await GateFixture()
    fixture.policy.binding = [.method, .path]
    #expect(await fixture.judge(fixture.request(), body: Array("[]".utf8)).code == .bodyMismatch)
    #expect(await fixture.judge(fixture.request(), body: Self.body).isVerified)
  }

  @Test func theConnectionsLastKeyBindsNoOtherRequest() async throws {
    let fixture = try await GateFixture()
    let first = await fixture.judge(fixture.request(), body: Self.body)
    #expect(await fixture.judge(fixture.request(), body: Self.body, hint: first.verifiedKey).isVerified)
    // Another device's request on the same connection is its own.
    let other = TestDevice()
    try await fixture.enroll(other.enrolledKey())
    let outcome = await fixture.judge(fixture.request { $0.device = other }, body: Self.body, hint: first.verifiedKey)
    #expect(outcome.verifiedKey == other.identifier)
  }

  @Test func aChallengeForOneKeyIsGoodForThatKeyNamedOrRecovered() async throws {
    let fixture = try await GateFixture()
    let other = TestDevice()
    try await fixture.enroll(other.enrolledKey())
    let bound = { fixture.challenge(boundTo: fixture.device.identifier) }
    for namesKey in [true, false] {
      let wrong = fixture.request {
        $0.device = other
        $0.challenge = bound()
        $0.namesKeyInHeader = namesKey
      }
      #expect(await fixture.judge(wrong, body: Self.body).code == .challengeWrongKey)
      let right = fixture.request {
        $0.challenge = bound()
        $0.namesKeyInHeader = namesKey
      }
      #expect(await fixture.judge(right, body: Self.body).isVerified)
    }
  }

  @Test func theKeyMayBeNamedByTheClientData() async throws {
    let fixture = try await GateFixture()
    let identifier = fixture.device.identifier
    #expect(await fixture.judge(fixture.request { $0.keyMember = identifier }, body: Self.body).isVerified)
    #expect(fixture.store.lookUps == [[identifier]])
    let both = fixture.request {
      $0.keyMember = identifier
      $0.namesKeyInHeader = true
    }
    #expect(await fixture.judge(both, body: Self.body).isVerified)
  }

  @Test func aWindowAcceptsWhatComesLateAndNothingTwice() async throws {
    let fixture = try await GateFixture()
    fixture.policy.counter = .window(4)
    let early = fixture.request()
    let late = fixture.request { $0.counter = 9 }
    let between = fixture.request { $0.counter = 7 }
    let again = fixture.request { $0.counter = 7 }
    #expect(await fixture.judge(late, body: Self.body).decision?.counterDelta == 9)
    #expect(await fixture.judge(between, body: Self.body).decision?.counterDelta == -2)
    let repeated = await fixture.judge(again, body: Self.body)
    #expect(repeated.code == .counterReplayed)
    #expect(repeated.refusal?.detail == "repeated")
    #expect(repeated.decision?.reasonLabel == "counter_replayed_repeated")
    let outOfOrder = await fixture.judge(early, body: Self.body)
    #expect(outOfOrder.refusal?.detail == "out_of_order")
  }

  @Test func anOpenRouteIsNotExamined() async throws {
    let fixture = try await GateFixture()
    fixture.policy.mode = .off
    let outcome = await fixture.judge(fixture.request { $0.sentAssertion = .absent })
    #expect(outcome.decision == Decision(mode: .off, outcome: .open))
    #expect(outcome.fields.isEmpty)
  }

  /// A commit after the record is gone: the worker forgets the key, so that the next look-up tells the truth.
  @Test func aCachedKeyWhoseRecordIsGoneIsForgotten() async throws {
    let fixture = try await GateFixture()
    #expect(await fixture.judge(fixture.request(), body: Self.body).isVerified)
    // Another store behind the same cache: as after the loss of Redis' data, with challenges of its own.
    let emptied = ScriptedStore()
    fixture.gate = Gate(settings: fixture.settings, store: emptied, keys: fixture.keys, clock: fixture.clock)
    let challenge = emptied.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: fixture.time.unixSeconds) ?? ""
    #expect(await fixture.judge(fixture.request { $0.challenge = Array(challenge.utf8) }, body: Self.body).code == .keyUnknown)
    #expect(fixture.keys.find(fixture.device.identifier) == nil)
    let next = emptied.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: fixture.time.unixSeconds) ?? ""
    #expect(await fixture.judge(fixture.request { $0.challenge = Array(next.utf8) }, body: Self.body).code == .assertionUnrecognised)
  }

  @Test func aCounterThatTheStoreHasSeenIsRefusedThoughTheCacheKnowsTheKey() async throws {
    let fixture = try await GateFixture()
    #expect(await fixture.judge(fixture.request { $0.counter = 5 }, body: Self.body).isVerified)
    let behind = await fixture.judge(fixture.request { $0.counter = 5 }, body: Self.body)
    #expect(behind.code == .counterReplayed)
    #expect(behind.decision?.decisionClass == .replayed)
  }

  @Test func ofManyCopiesOfOneRequestExactlyOneIsAdmitted() async throws {
    let memory = MemoryStore()
    let fixture = try await GateFixture(store: ScriptedStore(memory))
    let facts = fixture.request()
    let settings = fixture.settings
    let policy = fixture.policy
    let now = fixture.time.unixSeconds
    let codes = await withTaskGroup(of: ProblemCode?.self) { group in
      for _ in 0..<64 {
        group.addTask {
          let clock = GateClock(unixSeconds: { now }, monotonic: { .now })
          let gate = Gate(settings: settings, store: MemoryStoreClient(memory), clock: clock)
          let body = ReadBody(byteCount: 2, digest: SHA256.digest(Self.body.span))
          switch await gate.verdict(facts, policy: policy, body: .read(body)) {
          case .admit: return nil
          case .refuse(let refusal): return refusal.code
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.filter { $0 == nil }.count == 1)
    #expect(codes.filter { $0 == .assertionAlreadyAccepted }.count == 63)
  }
}
