import AppAttest
import Bytes
import Cryptography
import Testing

@testable import Store

@Suite struct ChallengeSealTests {
  private static let now = 1_800_000_000
  private static let day = 1_799_971_200
  private static let today = SealingSecrets.Secret(bytes: [UInt8](repeating: 7, count: 32), sealsFrom: day)
  private static let yesterday = SealingSecrets.Secret(bytes: [UInt8](repeating: 6, count: 32), sealsFrom: day - 86_400)
  private static let tomorrow = SealingSecrets.Secret(bytes: [UInt8](repeating: 8, count: 32), sealsFrom: day + 86_400)
  private static let seal = ChallengeSeal(SealingSecrets(secrets: [yesterday, today, tomorrow], runTag: 0xDEAD_BEEF))
  private static let key = KeyIdentifier(SHA256.digest([1].span))
  private static let otherKey = KeyIdentifier(SHA256.digest([2].span))

  private func open(
    _ text: String, with seal: ChallengeSeal = seal, purpose: ChallengePurpose = .assert, key: KeyIdentifier? = nil, at now: Int = now
  ) -> Result<OpenedChallenge, ChallengeRefusal> {
    seal.open(Array(text.utf8).span, purpose: purpose, key: key, now: now)
  }

  private func open(bytes: [UInt8], key: KeyIdentifier? = nil) -> Result<OpenedChallenge, ChallengeRefusal> {
    open(Base64.encodeURL(bytes.span), key: key)
  }

  private func namesUnknownSecret(_ text: String, to seal: ChallengeSeal) -> Bool { seal.namesUnknownSecret(Array(text.utf8).span) }

  private func issue(_ purpose: ChallengePurpose = .assert, boundTo key: KeyIdentifier? = nil, timeToLive: Int = 300) -> String {
    Self.seal.issue(purpose: purpose, boundTo: key, timeToLive: timeToLive, now: Self.now)
  }

  @Test(arguments: ChallengePurpose.allCases, [nil, key])
  func aChallengeThatWasIssuedOpens(purpose: ChallengePurpose, key: KeyIdentifier?) throws {
    let text = issue(purpose, boundTo: key)
    let opened = try open(text, purpose: purpose, key: key).get()
    #expect(opened.expiresAt == Self.now + 300)
    #expect(opened.runTag == 0xDEAD_BEEF)
    #expect(opened.isBound == (key != nil))
    let digest = SHA256.digest(Array(text.utf8).span)
    #expect(opened.digest == digest)
  }

  @Test func aChallengeIsBase64URLOfTheLengthThatClientsWereTold() {
    for key in [nil, Self.key] {
      let text = issue(boundTo: key)
      #expect((43...160).contains(text.utf8.count))
      #expect(text.utf8.allSatisfy { $0 == 0x2D || $0 == 0x5F || Character(Unicode.Scalar($0)).isLetter || ASCII.isDigit($0) })
    }
  }

  @Test func twoChallengesAreNeverAlike() {
    #expect(issue() != issue())
  }

  @Test(arguments: [nil, key])
  func aChallengeWithOneBitChangedIsUnknown(key: KeyIdentifier?) throws {
    let bytes = try #require(Base64.decode(issue(boundTo: key), maximum: 160))
    for bit in 0..<bytes.count * 8 {
      var spoiled = bytes
      spoiled[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(open(bytes: spoiled, key: key) == .failure(.unknown), "bit \(bit)")
    }
  }

  @Test func aChallengeThatIsCutOrLengthenedIsUnknown() throws {
    for key in [nil, Self.key] {
      let bytes = try #require(Base64.decode(issue(boundTo: key), maximum: 160))
      for count in 0..<bytes.count { #expect(open(bytes: Array(bytes[..<count]), key: key) == .failure(.unknown)) }
      #expect(open(bytes: bytes + [0], key: key) == .failure(.unknown))
      #expect(open(bytes: bytes + bytes, key: key) == .failure(.unknown))
    }
    #expect(open("") == .failure(.unknown))
    #expect(open(String(repeating: "A", count: 100_000)) == .failure(.unknown))
  }

  @Test func anAliasInTheOtherAlphabetIsUnknown() throws {
    // Its SHA-256 would name another mark: one challenge could be used twice.
    for _ in 0..<100 {
      let text = issue()
      let bytes = try #require(Base64.decode(text, maximum: 160))
      let alias = Base64.encode(bytes.span)
      #expect(alias == text || open(alias) == .failure(.unknown))
      #expect(open(text + "=") == .failure(.unknown))
    }
  }

  @Test(arguments: [
    (0, nil), (300, nil), (304, nil), (305, ChallengeRefusal.expired), (100_000, .expired), (-100_000, nil),
  ])
  func aChallengeIsTakenUntilFiveSecondsAfterItsExpiry(later: Int, refusal: ChallengeRefusal?) {
    let result = open(issue(), at: Self.now + later)
    if let refusal { #expect(result == .failure(refusal)) } else { #expect(throws: Never.self) { try result.get() } }
  }

  @Test func aChallengeOfTheOtherPurposeIsToldApart() {
    #expect(open(issue(.attest), purpose: .assert) == .failure(.wrongPurpose))
    #expect(open(issue(.assert), purpose: .attest) == .failure(.wrongPurpose))
  }

  @Test func aChallengeForAnotherKeyIsToldApart() throws {
    #expect(open(issue(boundTo: Self.key), key: Self.otherKey) == .failure(.wrongKey))
    #expect(throws: Never.self) { try open(issue(), key: Self.otherKey).get() }
  }

  @Test func theMarkIsMadeOnlyForTheKeyThatTheChallengeWasMadeFor() throws {
    let bound = try open(issue(boundTo: Self.key)).get()
    let fingerprint = SHA256.digest([3].span)
    #expect(bound.mark(for: Self.otherKey, fingerprint: fingerprint) == nil)
    let mark = try #require(bound.mark(for: Self.key, fingerprint: fingerprint))
    #expect(mark.challenge == bound.digest && mark.fingerprint == fingerprint && mark.runTag == bound.runTag)
    #expect(try open(issue()).get().mark(for: Self.otherKey, fingerprint: fingerprint) != nil)
  }

  @Test func aChallengeOfAnotherRunIsUnknown() {
    let next = ChallengeSeal(SealingSecrets(secrets: [Self.today], runTag: 1))
    #expect(open(issue(), with: next) == .failure(.unknown))
    #expect(!namesUnknownSecret(issue(), to: next))
  }

  @Test func aChallengeOfAnUnknownSecretIsUnknownAndSaysSo() {
    let other = ChallengeSeal(SealingSecrets(secrets: [Self.yesterday], runTag: 0xDEAD_BEEF))
    #expect(open(issue(), with: other) == .failure(.unknown))
    #expect(namesUnknownSecret(issue(), to: other))
    #expect(!namesUnknownSecret("no challenge at all", to: other))
  }

  @Test func aSecretSealsFromItsDayOnAndOpensAlways() throws {
    let text = Self.seal.issue(purpose: .assert, boundTo: nil, timeToLive: 300, now: Self.day - 1)
    let onlyYesterday = ChallengeSeal(SealingSecrets(secrets: [Self.yesterday], runTag: 0xDEAD_BEEF))
    #expect(throws: Never.self) { try open(text, with: onlyYesterday, at: Self.day).get() }
    #expect(throws: Never.self) { try open(text, at: Self.day).get() }
    #expect(throws: Never.self) { try open(issue(), with: ChallengeSeal(SealingSecrets(secrets: [Self.today], runTag: 0xDEAD_BEEF))).get() }
  }

  @Test func anExcessiveLifetimeIsCut() throws {
    let opened = try open(issue(timeToLive: .max)).get()
    #expect(opened.expiresAt == Self.now + ChallengeSeal.timeToLiveSecondsMax)
  }
}
