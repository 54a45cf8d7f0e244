import AppAttest
import Bytes
import Cryptography
import EventLoop
import HTTP
import Store
import Synchronization
import Testing

@testable import Gate

/// An enrolment endpoint that trusts a test authority, over a scripted store.
private final class EnrolmentFixture {
  let time = GateFixture.Time()
  let store = ScriptedStore()
  let authority: TestAuthority
  let device = TestDevice()
  let settings: GateSettings
  let clock: GateClock
  let challenges: ChallengeEndpoint
  let endpoint: EnrolmentEndpoint

  init(
    background: BackgroundThread = BackgroundThread(name: "attestation", queueMax: 16),
    environments: Set<AttestationEnvironment> = [.simulated]
  ) throws {
    authority = try TestAuthority(now: time.unixSeconds)
    settings = GateSettings(apps: [
      AttestedApp(TestDevice.shop, environments: environments, trustRoots: [authority.root.certificate])
    ])
    let time = self.time
    clock = GateClock(unixSeconds: { time.unixSeconds }, monotonic: { time.monotonic })
    challenges = ChallengeEndpoint(settings: settings, store: store, clock: clock)
    endpoint = EnrolmentEndpoint(settings: settings, store: store, background: background, clock: clock)
  }

  func challenge() throws -> [UInt8] {
    guard case .challenge(let text, _) = challenges.attestationChallenge() else { throw StoreFailure(outcomeUnknown: false, reason: "") }
    return Array(text.utf8)
  }

  func body(
    _ challenge: [UInt8], device: TestDevice? = nil, attestation: [UInt8]? = nil, keyName: String = "key_id"
  ) throws -> [UInt8] {
    let device = device ?? self.device
    let object = try attestation ?? authority.attestation(of: device, clientDataHash: SHA256.digest(challenge.span))
    let (first, second) = (Base64.encode(object.span), Base64.encode(challenge.span))
    return Array(#"{"\#(keyName)":"\#(device.identifier.base64)","attestation":"\#(first)","challenge":"\#(second)"}"#.utf8)
  }

  func code(_ body: [UInt8]) async -> ProblemCode? {
    guard case .refused(let refusal) = await endpoint.enroll(body: body) else { return nil }
    return refusal.code
  }

  var enrolled: EndpointAnswer { .enrolled(device.identifier, environment: .simulated, app: TestDevice.shop.description) }
}

@Suite struct EnrolmentTests {
  @Test(arguments: ["key_id", "keyId"])
  func anAttestedKeyIsEnrolledAndCanSign(keyName: String) async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge(), keyName: keyName)
    let answer = await fixture.endpoint.enroll(body: body)
    #expect(answer == fixture.enrolled)
    let local = answer.answer(asksForJSON: true, requestID: [])
    #expect(local.status == 200)
    #expect(
      String(decoding: local.body, as: UTF8.self)
        == #"{"key_id":"\#(fixture.device.identifier.base64)","environment":"simulated","app":"ABCDE12345.com.example.shop"}"#)

    let record = try #require(try await fixture.store.record(of: fixture.device.identifier))
    #expect(record.counter == 0)
    #expect(record.receiptByteCount == 7)
    #expect(record.enrolledAt == fixture.time.unixSeconds)

    let gate = Gate(settings: fixture.settings, store: fixture.store, clock: fixture.clock)
    var policy = GatePolicy()
    policy.apps = [TestDevice.shop.description: [.simulated]]
    guard case .challenge(let challenge, _) = fixture.challenges.assertionChallenge(keyID: .absent, query: nil) else {
      Issue.record("no challenge")
      return
    }
    var parts = SignedRequestParts(device: fixture.device, challenge: Array(challenge.utf8))
    parts.body = []
    parts.signedBody = []
    guard case .admit(let admission) = await gate.verdict(parts.facts, policy: policy) else {
      Issue.record("not admitted")
      return
    }
    #expect(Outcome(admission).isVerified)
  }

  @Test func aResendIsAnsweredAsTheFirstCopyWasWhateverBecameOfTheChallenge() async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge())
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
    fixture.time.unixSeconds += 100_000
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
  }

  @Test func aResendOfARevokedKeySaysSo() async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge())
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
    #expect(try await fixture.store.setActive(false, key: fixture.device.identifier))
    #expect(await fixture.code(body) == .keyRevoked)
  }

  @Test func anotherAttestationOfAnEnrolledKeyIsRefusedBeforeItIsVerified() async throws {
    let fixture = try EnrolmentFixture()
    #expect(try await fixture.endpoint.enroll(body: fixture.body(fixture.challenge())) == fixture.enrolled)
    #expect(try await fixture.code(fixture.body(fixture.challenge())) == .keyAlreadyEnrolled)
    #expect(try await fixture.code(fixture.body(fixture.challenge(), attestation: [0])) == .keyAlreadyEnrolled)
  }

  @Test func aChallengeIsJudgedBeforeTheAttestation() async throws {
    let fixture = try EnrolmentFixture()
    let assertion = fixture.store.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: fixture.time.unixSeconds)
    let wrongPurpose = try fixture.body(Array(try #require(assertion).utf8), attestation: [0])
    #expect(await fixture.code(wrongPurpose) == .challengeWrongPurpose)
    let unknown = try fixture.body(Array("abc".utf8), attestation: [0])
    #expect(await fixture.code(unknown) == .challengeUnknown)
    // The challenge is base64url text, so an app that sends it as it is, not as base64, sends base64 of something else.
    let challenge = try fixture.challenge()
    let body = String(decoding: try fixture.body(challenge), as: UTF8.self)
    let bare = body.replacing(Base64.encode(challenge.span), with: String(decoding: challenge, as: UTF8.self))
    #expect(await fixture.code(Array(bare.utf8)) == .challengeUnknown)
  }

  @Test func anExpiredChallengeIsRefused() async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge())
    fixture.time.unixSeconds += 900 + ChallengeSeal.expiryToleranceSeconds
    #expect(await fixture.code(body) == .challengeExpired)
    fixture.time.unixSeconds -= 1
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
  }

  /// A key can be attested once, so at this endpoint a refused challenge is 400 and means a new key.
  @Test func aUsedChallengeMeansANewKey() async throws {
    let fixture = try EnrolmentFixture()
    let used = try fixture.challenge()
    let first = try fixture.body(used, device: TestDevice())
    #expect(await fixture.code(first) == nil)
    let second = try fixture.body(used)
    let answer = await fixture.endpoint.enroll(body: second)
    guard case .refused(let refusal) = answer else {
      Issue.record("a used challenge was accepted")
      return
    }
    #expect(refusal.code == .challengeUsed)
    let document = refusal.document(requestID: [])
    #expect(document.status == 400)
    #expect(document.recovery == .enrolAgain)
    #expect(document.fields.isEmpty)
  }

  @Test func anAppThatApplesServersAskedToWaitFindsItsChallengeAlive() async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge())
    fixture.time.unixSeconds += 899
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
  }

  @Test func aFailedVerificationBurnsNothing() async throws {
    let fixture = try EnrolmentFixture()
    let challenge = try fixture.challenge()
    let hash = SHA256.digest(challenge.span)
    let good = try fixture.authority.attestation(of: fixture.device, clientDataHash: hash)
    let otherAuthority = try TestAuthority(now: fixture.time.unixSeconds)
    let stranger = TestDevice(app: TestDevice.bank)
    let bad: [(ProblemCode, [UInt8])] = [
      (.attestationMalformed, [0]), (.attestationMalformed, good + [0]),
      (.attestationFormat, replacing("apple-appattest", by: "other-appattest", in: good)),
      (.certificateChainInvalid, try otherAuthority.attestation(of: fixture.device, clientDataHash: hash)),
      (.nonceMismatch, try fixture.authority.attestation(of: fixture.device, clientDataHash: SHA256.digest([0].span))),
      (.keyIDMismatch, try fixture.authority.attestation(of: TestDevice(), clientDataHash: hash)),
      (.counterNotZero, try fixture.authority.attestation(of: fixture.device, clientDataHash: hash, counter: 1)),
    ]
    for (code, object) in bad {
      let body = try fixture.body(challenge, attestation: object)
      #expect(await fixture.code(body) == code)
    }
    #expect(try await fixture.code(fixture.body(challenge, device: stranger)) == .rpIDMismatch)
    #expect(try await fixture.endpoint.enroll(body: fixture.body(challenge, attestation: good)) == fixture.enrolled)
  }

  @Test func anEnvironmentThatTheAppDoesNotListIsRefused() async throws {
    let fixture = try EnrolmentFixture(environments: [.production, .development])
    #expect(try await fixture.code(fixture.body(fixture.challenge())) == .environmentNotAllowed)
  }

  @Test(arguments: [
    (ProblemCode.requestMalformed, ""), (.requestMalformed, "{"), (.requestMalformed, "[]"), (.requestMalformed, "{}"),
    (.requestMalformed, #"{"key_id":"KEY","challenge":"AAAA"}"#), (.requestMalformed, #"{"attestation":"AAAA","challenge":"AAAA"}"#),
    (.requestMalformed, #"{"key_id":"KEY","keyId":"KEY","attestation":"AAAA","challenge":"AAAA"}"#),
    (.requestMalformed, #"{"key_id":1,"attestation":"AAAA","challenge":"AAAA"}"#),
    (.requestMalformed, #"{"key_id":"KEY","attestation":"A A","challenge":"AAAA"}"#),
    (.requestMalformed, #"{"key_id":"KEY","attestation":"AAAA","challenge":"?"}"#),
    (.requestMalformed, #"{"key_id":"KEY","attestation":"AAAA","attestation":"AAAA","challenge":"AAAA"}"#),
    (.requestMalformed, #"{"key_id":"KEY","attestation":"AAAA","challenge":"AAAA"}x"#),
    (.keyIDMalformed, #"{"key_id":"AAAA","attestation":"AAAA","challenge":"AAAA"}"#),
    (.challengeMissing, #"{"key_id":"KEY","attestation":"AAAA"}"#),
    (.challengeUnknown, #"{"key_id":"KEY","attestation":"AAAA","challenge":"AAAA","more":{"a":[1,2]}}"#),
  ])
  func aBodyThatIsNotTheRequestHasItsCode(code: ProblemCode, body: String) async throws {
    let fixture = try EnrolmentFixture()
    #expect(await fixture.code(Array(body.replacing("KEY", with: fixture.device.identifier.base64).utf8)) == code)
  }

  @Test func theSizesAreBounded() async throws {
    let fixture = try EnrolmentFixture()
    let challenge = try fixture.challenge()
    let large = [UInt8](repeating: 0, count: EnrolmentRequest.attestationBytesMax + 1)
    #expect(try await fixture.code(fixture.body(challenge, attestation: large)) == .attestationMalformed)
    let whole = try fixture.body(challenge)
    let padded = whole + [UInt8](repeating: 0x20, count: EnrolmentEndpoint.bodyBytesMax - whole.count)
    #expect(await fixture.code(padded + [0x20]) == .bodyTooLarge)
    #expect(await fixture.endpoint.enroll(body: padded) == fixture.enrolled)
  }

  @Test func whileTheStoreIsAwayNothingIsEnrolledAndTheSameRequestWorksLater() async throws {
    let fixture = try EnrolmentFixture()
    let body = try fixture.body(fixture.challenge())
    fixture.store.lookUpFailure = StoreFailureTests.away
    #expect(await fixture.code(body) == .storeUnavailable)
    fixture.store.lookUpFailure = nil
    fixture.store.commitFailure = StoreFailureTests.unknown
    #expect(await fixture.code(body) == .storeUnavailable)
    fixture.store.commitFailure = nil
    #expect(await fixture.endpoint.enroll(body: body) == fixture.enrolled)
  }

  /// What was true before the verification may not be true after it: the atomic step judges again.
  @Test func whatChangesDuringTheVerificationIsSeen() async throws {
    let fixture = try EnrolmentFixture()
    let challenge = try fixture.challenge()
    let mine = try fixture.body(challenge)
    let rival = TestDevice()
    let other = try fixture.body(challenge, device: rival)
    let endpoint = fixture.endpoint
    let store = fixture.store
    store.beforeCommit = {
      store.beforeCommit = {}
      _ = await endpoint.enroll(body: other)
    }
    #expect(await fixture.code(mine) == .challengeUsed)
    #expect(try await store.record(of: rival.identifier) != nil)
  }

  @Test func aFullQueueIsOverloadedAndCanComeBack() async throws {
    // Nothing may wait on this thread.
    let fixture = try EnrolmentFixture(background: BackgroundThread(name: "full", queueMax: 0))
    let body = try fixture.body(fixture.challenge())
    guard case .refused(let refusal) = await fixture.endpoint.enroll(body: body) else {
      Issue.record("enrolled")
      return
    }
    #expect(refusal.code == .overloaded)
    #expect(refusal.retryAfterSeconds == 1)
    let relieved = EnrolmentEndpoint(
      settings: fixture.settings, store: fixture.store, background: BackgroundThread(name: "idle", queueMax: 1), clock: fixture.clock)
    #expect(await relieved.enroll(body: body) == fixture.enrolled)
  }

  private func replacing(_ text: String, by other: String, in bytes: [UInt8]) -> [UInt8] {
    guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: text.utf8) }) else { return bytes }
    var changed = bytes
    changed.replaceSubrange(start..<start + text.utf8.count, with: other.utf8)
    return changed
  }
}
