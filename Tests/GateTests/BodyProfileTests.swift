import AppAttest
import Bytes
import Cryptography
import HTTP
import Store
import Testing

@testable import Gate

/// `client_data: body`: the body is the client data. So what real devices signed can be sent as it was.
@Suite struct BodyProfileTests {
  private func fixture(_ real: RealAssertion, isEnrolled: Bool = true) async throws -> GateFixture {
    let fixture = try await GateFixture(isEnrolled: false)
    fixture.gate = Gate(
      settings: GateSettings(apps: [AttestedApp(real.app), AttestedApp(TestDevice.shop)]), store: fixture.store, keys: fixture.keys,
      clock: fixture.clock)
    fixture.policy.clientData = .body
    fixture.policy.apps = [real.app.description: [real.environment]]
    if isEnrolled { try await fixture.enroll(real.key) }
    return fixture
  }

  private func facts(_ assertion: [UInt8], key: KeyIdentifier? = nil, byteCount: Int? = nil) -> SentRequest {
    SentRequest(
      method: Array("POST".utf8), normalPath: Array("/".utf8), rawPath: Array("/".utf8), query: Array("any=thing".utf8), host: [],
      defaultPort: 443, assertion: .one(Array(Base64.encode(assertion.span).utf8)), clientData: .absent,
      keyID: key.map { .one(Array($0.base64.utf8)) } ?? .absent, body: byteCount.map { .known($0) } ?? .unknown)
  }

  @Test(arguments: RealAssertion.all, [false, true])
  func aRealAssertionIsAcceptedOnce(real: RealAssertion, namesKey: Bool) async throws {
    let fixture = try await fixture(real)
    let facts = facts(real.bytes, key: namesKey ? real.key.identifier : nil)
    let outcome = await fixture.judge(facts, body: real.clientData)
    #expect(outcome.isVerified)
    #expect(outcome.fields.contains("X-App-Attest-Key-Id: \(real.key.identifier.base64)\r\n"))
    #expect(outcome.fields.contains("X-App-Attest-App: \(real.app)\r\n"))
    #expect(outcome.fields.contains("X-App-Attest-Environment: \(real.environment.rawValue)\r\n"))
    #expect(outcome.fields.contains("X-App-Attest-Counter: \(real.counter)\r\n"))
    let again = await fixture.judge(facts, body: real.clientData)
    #expect(again.code == .counterReplayed)
  }

  @Test(arguments: RealAssertion.all)
  func aChangedBodyIsNotWhatWasSigned(real: RealAssertion) async throws {
    let fixture = try await fixture(real)
    var changed = real.clientData
    changed[0] ^= 1
    #expect(await fixture.judge(facts(real.bytes), body: changed).code == .assertionUnrecognised)
    #expect(await fixture.judge(facts(real.bytes, key: real.key.identifier), body: changed).code == .signatureInvalid)
    #expect(await fixture.judge(facts(real.bytes), body: real.clientData).isVerified)
  }

  /// Whichever byte is flipped, the assertion is refused, and the true one passes afterwards.
  @Test(arguments: RealAssertion.all)
  func noFlippedBitIsAccepted(real: RealAssertion) async throws {
    let fixture = try await fixture(real)
    let codes: Set<ProblemCode> = [.assertionMalformed, .assertionUnrecognised, .rpIDMismatch, .counterReplayed]
    for index in real.bytes.indices {
      var spoiled = real.bytes
      spoiled[index] ^= 1 << UInt8(index % 8)
      let code = await fixture.judge(facts(spoiled), body: real.clientData).code
      #expect(code.map(codes.contains) == true, "byte \(index)")
    }
    #expect(await fixture.judge(facts(real.bytes), body: real.clientData).isVerified)
  }

  @Test func anEmptyBodySignsNothing() async throws {
    let real = RealAssertion.all[0]
    let fixture = try await fixture(real)
    for body in [BodyLength.none, .known(0), .unknown] {
      #expect(await fixture.judge(facts(real.bytes).with(body: body)).code == .assertionMalformed)
    }
  }

  /// App and counter are judged before a byte of the body is asked for.
  @Test func whatNeedsNoBodyIsJudgedBeforeIt() async throws {
    let real = RealAssertion.all[0]
    let fixture = try await fixture(real)
    let device = TestDevice()
    let other = TestDevice(app: AppIdentity(prefix: "X", bundleIdentifier: "y"))
    let expected: [(ProblemCode, SentRequest)] = [
      (.appNotAllowed, facts(device.assertion(over: [1]))), (.rpIDMismatch, facts(other.assertion(over: [1]))),
      (.counterReplayed, facts(device.assertion(over: [1], counter: 0, app: real.app))),
      (.bodyTooLarge, facts(real.bytes, byteCount: fixture.policy.bodyBytesMax + 1)),
    ]
    for (code, facts) in expected {
      guard case .judged(.refuse(let refusal)) = await fixture.gate.examine(facts, policy: fixture.policy, hint: nil) else {
        Issue.record("\(code.rawValue): not refused at once")
        continue
      }
      #expect(refusal.code == code)
    }
    #expect(fixture.store.lookUps.isEmpty)
  }

  @Test func anUnknownKeyHasItsCodeNamedOrNot() async throws {
    let real = RealAssertion.all[0]
    let fixture = try await fixture(real, isEnrolled: false)
    #expect(await fixture.judge(facts(real.bytes), body: real.clientData).code == .assertionUnrecognised)
    #expect(await fixture.judge(facts(real.bytes, key: real.key.identifier), body: real.clientData).code == .keyUnknown)
  }

  @Test func bothProfilesShareOneCounter() async throws {
    let fixture = try await GateFixture()
    #expect(await fixture.judge(fixture.request { $0.counter = 7 }, body: GateTests.body).isVerified)
    fixture.policy.clientData = .body
    let late = fixture.device.assertion(over: [1], counter: 7)
    #expect(await fixture.judge(facts(late), body: [1]).code == .counterReplayed)
    let next = fixture.device.assertion(over: [1])
    #expect(await fixture.judge(facts(next), body: [1]).isVerified)
  }

  @Test func whileTheStoreIsAwayTheRestIsStillJudged() async throws {
    let real = RealAssertion.all[0]
    let fixture = try await fixture(real)
    fixture.policy.admitsOnStoreFailure = true
    fixture.store.lookUpFailure = StoreFailureTests.away
    #expect(await fixture.judge(facts(real.bytes), body: real.clientData).isUnverified)
    #expect(await fixture.judge(facts(TestDevice().assertion(over: [1])), body: [1]).code == .appNotAllowed)
  }
}
