import AppAttest
import Bytes
import HTTP
import Store
import Testing

@testable import Gate

@Suite struct ChallengeEndpointTests {
  private let store = ScriptedStore()
  private let now = 1_800_000_000
  private let key = KeyIdentifier(base64: Array("Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko=".utf8).span)!

  private var endpoint: ChallengeEndpoint {
    let now = self.now
    let clock = GateClock(unixSeconds: { now }, monotonic: { .init(nanoseconds: 0) })
    return ChallengeEndpoint(settings: GateSettings(apps: []), store: store, clock: clock)
  }

  private func opened(_ answer: EndpointAnswer, _ purpose: ChallengePurpose, _ key: KeyIdentifier? = nil) async throws -> OpenedChallenge? {
    guard case .challenge(let text, _) = answer else { return nil }
    return try? await store.openChallenge(Array(text.utf8), purpose: purpose, key: key, now: now).get()
  }

  @Test func eachEndpointMakesChallengesOfItsPurposeAndLifetime() async throws {
    let attestation = endpoint.attestationChallenge()
    let assertion = endpoint.assertionChallenge(keyID: .absent, query: nil)
    guard case .challenge(let text, let long) = attestation, case .challenge(_, let short) = assertion else {
      Issue.record("no challenge")
      return
    }
    #expect(long == 900)
    #expect(short == 300)
    #expect((43...160).contains(text.utf8.count))
    #expect(try await opened(attestation, .attest)?.expiresAt == now + 900)
    #expect(try await opened(assertion, .assert)?.expiresAt == now + 300)
    #expect(try await opened(attestation, .assert) == nil)
    #expect(attestation != endpoint.attestationChallenge())
  }

  @Test(arguments: [
    "key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko=", "key_id=Vnfq%2BSp0rWyyqNhrfh%2B9%2FIhLIvXuYTPAmJEVQwl4dko%3D",
    "key_id=Vnfq%2bSp0rWyyqNhrfh%2b9%2fIhLIvXuYTPAmJEVQwl4dko%3d", "a=b&key_id=Vnfq-Sp0rWyyqNhrfh-9_IhLIvXuYTPAmJEVQwl4dko&c",
  ])
  func aQueryNamesTheKey(query: String) async throws {
    let answer = endpoint.assertionChallenge(keyID: .absent, query: Array(query.utf8))
    #expect(try await opened(answer, .assert, key) != nil)
    #expect(try await opened(answer, .assert, TestDevice().identifier) == nil)
  }

  @Test func aHeaderNamesTheKey() async throws {
    let header = FieldInput.one(Array(key.base64.utf8))
    let answer = endpoint.assertionChallenge(keyID: header, query: Array("key_id=\(key.base64)".utf8))
    #expect(try await opened(answer, .assert, key) != nil)
    #expect(try await opened(answer, .assert, TestDevice().identifier) == nil)
  }

  @Test(
    arguments: [
      (FieldInput.repeated, nil), (.one([]), nil), (.one(Array("AAAA".utf8)), nil), (.absent, "key_id="), (.absent, "key_id=AAAA"),
      (.absent, "key_id=Vnfq%20Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko="),
      (.absent, "key_id=%56nfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko="),
      (.absent, "key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko%"), (.absent, "key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko%3"),
      (
        .absent,
        "key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko=&key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko="
      ),
      (
        .one(Array("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".utf8)), "key_id=Vnfq+Sp0rWyyqNhrfh+9/IhLIvXuYTPAmJEVQwl4dko="
      ),
    ] as [(FieldInput, String?)])
  func aKeyThatIsNotOneIsRefused(field: FieldInput, query: String?) {
    guard case .refused(let refusal) = endpoint.assertionChallenge(keyID: field, query: query.map { Array($0.utf8) }) else {
      Issue.record("a challenge was made")
      return
    }
    #expect(refusal.code == .keyIDMalformed)
    #expect(refusal.status == 400)
  }

  @Test func anotherParameterIsNotTheKey() async throws {
    for query in ["", "key_ids=AAAA", "xkey_id=AAAA", "KEY_ID=AAAA", "key_id", "a=key_id=AAAA"] {
      let answer = endpoint.assertionChallenge(keyID: .absent, query: Array(query.utf8))
      #expect(try await opened(answer, .assert)?.isGood(for: TestDevice().identifier) == true)
    }
  }

  @Test func beforeTheStoreWasReachedThereIsNoChallenge() {
    store.isReached = false
    guard case .refused(let refusal) = endpoint.attestationChallenge() else {
      Issue.record("a challenge was made")
      return
    }
    #expect(refusal.code == .storeUnavailable)
    #expect(refusal.retryAfterSeconds == 1)
  }

  @Test func aChallengeIsBareTextUnlessJSONIsAskedFor() {
    let answer = EndpointAnswer.challenge("abc-_1", expiresIn: 300)
    #expect(answer.answer(asksForJSON: false, requestID: []).body == Array("abc-_1".utf8))
    let json = answer.answer(asksForJSON: true, requestID: [])
    #expect(json.body == Array(#"{"challenge":"abc-_1","expires_in":300}"#.utf8))
    #expect("\(json.contentType)" == "application/json")
  }
}
