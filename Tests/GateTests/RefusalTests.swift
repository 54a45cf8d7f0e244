import AppAttest
import Bytes
import Cryptography
import HTTP
import Store
import Testing

@testable import Gate

/// One way in which a request is not as it must be.
struct RefusalCase: Sendable, CustomTestStringConvertible {
  var code: ProblemCode
  var testDescription: String
  /// The body that arrives.
  var body = Array("{}".utf8)
  /// Changes the request before it is signed.
  var spoil: @Sendable (GateFixture, inout SignedRequestParts) async throws -> Void

  init(
    _ code: ProblemCode, _ description: String, body: [UInt8] = Array("{}".utf8),
    _ spoil: @escaping @Sendable (GateFixture, inout SignedRequestParts) async throws -> Void
  ) {
    self.code = code
    testDescription = "\(code.rawValue): \(description)"
    self.body = body
    self.spoil = spoil
  }
}

@Suite struct RefusalTests {
  private static func base64(_ bytes: [UInt8]) -> FieldInput { .one(Array(Base64.encode(bytes.span).utf8)) }

  static let inputs: [RefusalCase] = [
    RefusalCase(.assertionMissing, "no assertion") { $1.sentAssertion = .absent },
    RefusalCase(.assertionMalformed, "two assertions") { $1.sentAssertion = .repeated },
    RefusalCase(.assertionMalformed, "an empty assertion") { $1.sentAssertion = .one([]) },
    RefusalCase(.assertionMalformed, "no CBOR") { $1.sentAssertion = base64([1, 2, 3]) },
    RefusalCase(.assertionMalformed, "larger than an assertion can be") {
      $1.sentAssertion = base64([UInt8](repeating: 0, count: Assertion.byteCountMax + 1))
    },
    RefusalCase(.assertionMalformed, "two joined by a comma") {
      guard case .one(let value) = $1.facts.assertion else { return }
      $1.sentAssertion = .one(value + Array(", ".utf8) + value)
    },
    RefusalCase(.clientDataMissing, "no client data") { $1.sentClientData = .absent },
    RefusalCase(.clientDataMalformed, "client data twice") { $1.sentClientData = .repeated },
    RefusalCase(.clientDataMalformed, "not base64") { $1.sentClientData = .one(Array("{}".utf8)) },
    RefusalCase(.clientDataMalformed, "not JSON") { $1.sentClientData = base64(Array("x".utf8)) },
    RefusalCase(.clientDataMalformed, "more than 4 KiB") { $1.sentClientData = base64([UInt8](repeating: 0x20, count: 4097)) },
    RefusalCase(.keyIDMalformed, "two keys") { $1.sentKeyID = .repeated },
    RefusalCase(.keyIDMalformed, "not 32 bytes") { $1.sentKeyID = base64([1, 2, 3]) },
    RefusalCase(.keyIDMalformed, "header and client data differ") { _, parts in
      parts.keyMember = parts.device.identifier
      parts.sentKeyID = base64(TestDevice().identifier.digest.bytes)
    },
    RefusalCase(.keyIDMalformed, "the route demands a key and none is named") { fixture, _ in fixture.policy.requiresKeyID = true },
    RefusalCase(.challengeMissing, "no challenge") { $1.challenge = nil },
    RefusalCase(.bodyTooLarge, "a length above the limit, before the assertion is looked at", body: [UInt8](repeating: 0, count: 11)) {
      fixture, parts in
      fixture.policy.bodyBytesMax = 10
      parts.body = [UInt8](repeating: 0, count: 11)
      parts.sentAssertion = .absent
    },
  ]

  static let bindings: [RefusalCase] = [
    RefusalCase(.methodMismatch, "another method") { $1.method = "PUT" },
    RefusalCase(.methodMismatch, "no method signed") { $1.signedMethod = nil },
    RefusalCase(.pathMismatch, "another path") { $1.path = "/v1/refunds" },
    RefusalCase(.pathMismatch, "no path signed") { $1.signedPath = nil },
    RefusalCase(.queryUnbound, "a query that was not signed") { $1.query = "a=1" },
    RefusalCase(.queryMismatch, "another query") { _, parts in
      parts.query = "a=1"
      parts.signedQuery = "a=2"
    },
    RefusalCase(.hostMismatch, "another host") { $1.signedHost = "evil.example" },
    RefusalCase(.hostMismatch, "no host signed where the route binds it") { fixture, _ in fixture.policy.binding.insert(.host) },
    RefusalCase(.bodyMismatch, "another body", body: Array("[]".utf8)) { _, _ in },
    RefusalCase(.bodyMismatch, "no digest signed") { $1.signedBody = nil },
    RefusalCase(.bodyMismatch, "a body where none was signed") { $1.signedBody = [] },
    RefusalCase(.bodyMismatch, "no body where one was signed") { $1.body = [] },
  ]

  static let challenges: [RefusalCase] = [
    RefusalCase(.challengeUnknown, "not a challenge") { $1.challenge = Array("abc".utf8) },
    RefusalCase(.challengeUnknown, "another store's") { fixture, parts in
      let other = ScriptedStore()
      let text = other.issueChallenge(purpose: .assert, boundTo: nil, timeToLive: 300, now: fixture.time.unixSeconds)
      parts.challenge = Array(try #require(text).utf8)
    },
    RefusalCase(.challengeUnknown, "a changed character") { _, parts in
      var challenge = parts.challenge ?? []
      challenge[10] = challenge[10] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      parts.challenge = challenge
    },
    RefusalCase(.challengeExpired, "too old") { fixture, parts in
      parts.challenge = fixture.challenge(seconds: 10)
      fixture.time.unixSeconds += 16
    },
    RefusalCase(.challengeWrongPurpose, "made for an attestation") { $1.challenge = $0.challenge(.attest) },
    RefusalCase(.challengeWrongKey, "made for another key") { fixture, parts in
      parts.challenge = fixture.challenge(boundTo: TestDevice().identifier)
      parts.namesKeyInHeader = true
    },
    RefusalCase(.challengeWrongKey, "made for another key, which is recovered") { fixture, parts in
      parts.challenge = fixture.challenge(boundTo: TestDevice().identifier)
    },
    RefusalCase(.challengeUsed, "answered before by other bytes") { fixture, parts in
      let other = TestDevice()
      try await fixture.enroll(other.enrolledKey())
      let used = fixture.challenge()
      let first = fixture.request {
        $0.device = other
        $0.challenge = used
      }
      #expect(await fixture.judge(first, body: GateTests.body).isVerified)
      parts.challenge = used
    },
  ]

  static let keys: [RefusalCase] = [
    RefusalCase(.keyUnknown, "named and not enrolled") { _, parts in
      parts.device = TestDevice()
      parts.namesKeyInHeader = true
    },
    RefusalCase(.assertionUnrecognised, "not named and not enrolled") { $1.device = TestDevice() },
    RefusalCase(.assertionUnrecognised, "not named, and other bytes were signed") { _, parts in
      parts.changesClientData = { $0 + [0x20] }
    },
    RefusalCase(.signatureInvalid, "named, and other bytes were signed") { _, parts in
      parts.namesKeyInHeader = true
      parts.changesClientData = { $0 + [0x20] }
    },
    RefusalCase(.signatureInvalid, "named is another enrolled key than the one that signed") { fixture, parts in
      let other = TestDevice()
      try await fixture.enroll(other.enrolledKey())
      parts.sentKeyID = base64(other.identifier.digest.bytes)
    },
    RefusalCase(.appNotAllowed, "another configured app") { fixture, parts in
      parts.device = TestDevice(app: TestDevice.bank)
      try await fixture.enroll(parts.device.enrolledKey())
    },
    RefusalCase(.appNotAllowed, "another configured app, named") { fixture, parts in
      parts.device = TestDevice(app: TestDevice.bank)
      parts.namesKeyInHeader = true
      try await fixture.enroll(parts.device.enrolledKey())
    },
    RefusalCase(.appNotAllowed, "an app that is configured no longer") { fixture, parts in
      parts.device = TestDevice(app: AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.gone"))
      parts.namesKeyInHeader = true
      try await fixture.enroll(parts.device.enrolledKey())
    },
    RefusalCase(.environmentNotAllowed, "a development key") { fixture, parts in
      parts.device = TestDevice()
      try await fixture.enroll(parts.device.enrolledKey(environment: .development))
    },
    RefusalCase(.environmentNotAllowed, "a trust root that the app accepts no longer") { fixture, parts in
      parts.device = TestDevice()
      parts.namesKeyInHeader = true
      try await fixture.enroll(parts.device.enrolledKey(trustRoot: SHA256.digest(Array("gone".utf8).span)))
    },
    RefusalCase(.rpIDMismatch, "an assertion for an app that is not configured") { _, parts in
      parts.signsForApp = AppIdentity(prefix: "X", bundleIdentifier: "y")
    },
    RefusalCase(.rpIDMismatch, "an assertion of the key for another of its apps, named") { _, parts in
      parts.signsForApp = TestDevice.bank
      parts.namesKeyInHeader = true
    },
    RefusalCase(.rpIDMismatch, "an assertion for another admitted app, recovered") { fixture, parts in
      fixture.policy.apps[TestDevice.bank.description] = [.production]
      parts.signsForApp = TestDevice.bank
    },
    RefusalCase(.counterReplayed, "a counter of zero") { $1.counter = 0 },
    RefusalCase(.counterReplayed, "a counter of zero, named") { _, parts in
      parts.counter = 0
      parts.namesKeyInHeader = true
    },
    RefusalCase(.keyRevoked, "a revoked key") { fixture, parts in
      parts.device = TestDevice()
      try await fixture.enroll(parts.device.enrolledKey())
      #expect(try await fixture.store.setActive(false, key: parts.device.identifier))
    },
    RefusalCase(.counterReplayed, "a counter that was seen") { fixture, parts in
      let device = TestDevice()
      try await fixture.enroll(device.enrolledKey())
      #expect(await fixture.judge(fixture.request { $0.device = device }, body: GateTests.body).isVerified)
      parts.device = device
      parts.counter = 1
    },
  ]

  static let all = inputs + bindings + challenges + keys

  /// The good request, signed before the spoiled one with the same challenge and a lower counter, passes afterwards: so neither was consumed.
  @Test(arguments: all)
  func aRefusalHasItsCodeAndConsumesNothing(refusal: RefusalCase) async throws {
    let fixture = try await GateFixture()
    let policy = fixture.policy
    let challenge = fixture.challenge()
    let good = fixture.request { $0.challenge = challenge }
    var parts = SignedRequestParts(device: fixture.device, challenge: challenge)
    try await refusal.spoil(fixture, &parts)
    let commits = fixture.store.commits.count

    let outcome = await fixture.judge(parts.facts, body: refusal.body)
    #expect(outcome.code == refusal.code)
    #expect(outcome.fields.isEmpty)
    #expect(outcome.decision?.outcome == .refused)
    #expect(outcome.decision?.reason == refusal.code)
    try await checkAnswer(outcome, fixture)
    let isJudgedByTheStore = [ProblemCode.challengeUsed, .keyRevoked, .counterReplayed].contains(refusal.code)
    #expect(isJudgedByTheStore || fixture.store.commits.count == commits)

    fixture.policy = policy
    #expect(await fixture.judge(good, body: GateTests.body).isVerified)
  }

  /// A 401 offers a challenge with which the app can sign again at once; no other answer does.
  private func checkAnswer(_ outcome: Outcome, _ fixture: GateFixture) async throws {
    let refusal = try #require(outcome.refusal)
    #expect((refusal.challenge != nil) == (refusal.code.status == 401))
    let document = refusal.document(requestID: Array("id".utf8))
    #expect(document.fields.contains { "\($0.name)" == "WWW-Authenticate" } == (document.status == 401))
    #expect(document.recovery == refusal.code.recovery)
    if let challenge = refusal.challenge {
      let opened = try await fixture.store.openChallenge(Array(challenge.utf8), purpose: .assert, key: nil, now: fixture.time.unixSeconds)
      #expect((try? opened.get()) != nil)
    }
  }

  @Test func everyCodeThatTheGateCanGiveIsAmongThem() {
    let given = Set(Self.all.map(\.code)).union([.assertionAlreadyAccepted, .storeUnavailable])
    // Judged by a later release, at the gate's own endpoints, or outside the gate.
    let expected: Set<ProblemCode> = [
      .assertionMissing, .assertionMalformed, .clientDataMissing, .clientDataMalformed, .keyIDMalformed, .methodMismatch, .pathMismatch,
      .queryMismatch, .queryUnbound, .hostMismatch, .bodyMismatch, .keyUnknown, .keyRevoked, .appNotAllowed, .environmentNotAllowed,
      .signatureInvalid, .assertionUnrecognised, .rpIDMismatch, .counterReplayed, .assertionAlreadyAccepted, .challengeMissing,
      .challengeUnknown, .challengeExpired, .challengeUsed, .challengeWrongPurpose, .challengeWrongKey, .bodyTooLarge, .storeUnavailable,
    ]
    #expect(given == expected)
  }

  @Test func theSameBytesAgainAreToldFromAnotherUseOfTheChallenge() async throws {
    let fixture = try await GateFixture()
    let facts = fixture.request()
    #expect(await fixture.judge(facts, body: GateTests.body).isVerified)
    let again = await fixture.judge(facts, body: GateTests.body)
    #expect(again.code == .assertionAlreadyAccepted)
    #expect(again.refusal?.status == 409)
    #expect(again.refusal?.challenge == nil)
    #expect(again.decision?.decisionClass == .replayed)
  }

  @Test func aRevocationHoldsForTheNextRequestAndARestorationToo() async throws {
    let fixture = try await GateFixture()
    #expect(await fixture.judge(fixture.request(), body: GateTests.body).isVerified)
    #expect(try await fixture.store.setActive(false, key: fixture.device.identifier))
    let refused = fixture.request()
    #expect(await fixture.judge(refused, body: GateTests.body).code == .keyRevoked)
    #expect(try await fixture.store.setActive(true, key: fixture.device.identifier))
    #expect(await fixture.judge(refused, body: GateTests.body).isVerified)
  }

  @Test func theChallengeOfARefusalIsGoodForSigningAgain() async throws {
    let fixture = try await GateFixture()
    let refused = await fixture.judge(fixture.request { $0.sentAssertion = .absent }, body: GateTests.body)
    let challenge = try #require(refused.refusal?.challenge)
    #expect(await fixture.judge(fixture.request { $0.challenge = Array(challenge.utf8) }, body: GateTests.body).isVerified)
  }

  /// Details are for the app's developer: they must not say anything about the key, its counter, or what lies behind the gate.
  @Test(arguments: all)
  func aDetailTellsNothingInternal(refusal: RefusalCase) async throws {
    let fixture = try await GateFixture()
    var parts = SignedRequestParts(device: fixture.device, challenge: fixture.challenge())
    try await refusal.spoil(fixture, &parts)
    let detail = try #require(await fixture.judge(parts.facts, body: refusal.body).refusal?.detail)
    #expect(!detail.isEmpty)
    for secret in [fixture.device.identifier.base64, TestDevice.shop.description, "127.0.0.1", "redis", "counter is"] {
      #expect(!detail.lowercased().contains(secret.lowercased()))
    }
  }

  @Test(
    arguments: [
      (ProblemCode.assertionMissing, DecisionClass.noAssertion), (.keyUnknown, .unknownKey), (.assertionUnrecognised, .unknownKey),
      (.counterReplayed, .replayed), (.challengeUsed, .replayed), (.assertionAlreadyAccepted, .replayed), (.signatureInvalid, .invalid),
      (.clientDataMissing, .invalid), (.challengeExpired, .invalid), (.keyRevoked, .invalid), (.storeUnavailable, nil),
      (.bodyTooLarge, nil),
    ] as [(ProblemCode, DecisionClass?)])
  func everyReasonHasItsClass(code: ProblemCode, expected: DecisionClass?) {
    #expect(DecisionClass(failure: code) == expected)
  }
}
