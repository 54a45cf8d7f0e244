import AppAttest
import Bytes
import Cryptography
import Testing

/// What `attestgate inspect` says of real objects, whole and spoiled.
@Suite struct InspectionTests {
  static func inspection(_ vector: Vector) -> AttestationInspection {
    var inspection = AttestationInspection(at: vector.unixSeconds)
    inspection.app = vector.app
    inspection.keyIdentifier = vector.keyIdentifier
    inspection.clientDataHash = vector.clientDataHash
    inspection.environments = [vector.environment]
    return inspection
  }

  static func assertionInspection(_ vector: Vector) -> AssertionInspection {
    var inspection = AssertionInspection()
    inspection.app = vector.app
    inspection.publicKey = vector.publicKey
    inspection.clientData = vector.clientData
    inspection.previousCounter = 0
    return inspection
  }

  static func results(_ report: InspectionReport) -> [String: String] {
    var results: [String: String] = [:]
    for step in report.steps {
      switch step.result {
      case .pass: results[step.name] = "pass"
      case .fail(let code): results[step.name] = code
      case .skipped: results[step.name] = "skipped"
      case .notApplicable: results[step.name] = "not applicable"
      }
    }
    return results
  }

  /// The steps that should have passed and did not.
  static func notPassed(_ report: InspectionReport) -> [String: String] {
    results(report).filter { $0.value != "pass" && $0.value != "not applicable" }
  }

  static func detail(_ report: InspectionReport, _ name: String) -> String { report.steps.first { $0.name == name }?.detail ?? "" }
  static func field(_ report: InspectionReport, _ name: String) -> String? { report.fields.first { $0.name == name }?.value }

  @Test(arguments: Vector.attestations)
  func aRealAttestationPassesEveryStep(vector: Vector) {
    let report = Self.inspection(vector).report(on: vector.bytes)
    #expect(report.code == nil)
    #expect(Self.notPassed(report) == [:])
    let isWritten = vector.entry.observed.extensions != nil
    #expect(Self.results(report)["validation category"] == (isWritten ? "pass" : "not applicable"))
    #expect(Self.results(report)["bundle version"] == (isWritten ? "pass" : "not applicable"))
    #expect(Self.results(report)["access control"] == "not applicable")
    #expect(report.steps.compactMap(\.number) == [1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11])
    #expect(Self.field(report, "leaf_app_id") == vector.app.description)
    #expect(Self.field(report, "leaf_key_id") == vector.keyIdentifier.base64)
    #expect(Self.field(report, "credential_id") == vector.keyIdentifier.base64)
    #expect(Self.field(report, "aaguid") == (vector.environment == .production ? "appattest" : "appattestdevelop"))
    #expect(Self.field(report, "flags") == vector.entry.observed.flags)
  }

  @Test(arguments: Vector.attestations)
  func whatIsNotGivenIsSkippedNotFailed(vector: Vector) {
    let report = AttestationInspection(at: vector.unixSeconds).report(on: vector.bytes)
    #expect(report.code == nil)
    #expect(
      Self.notPassed(report) == [
        "client data hash": "skipped", "nonce": "skipped", "nonce in certificate": "skipped", "key identifier": "skipped",
        "RP ID hash": "skipped",
      ])
  }

  @Test func theSystemIsRead() {
    let report = Self.inspection(.newest).report(on: Vector.newest.bytes)
    #expect(Self.field(report, "platform") == "iphoneos")
    #expect(Self.field(report, "system_version") == "27.0.1")
    #expect(Self.field(report, "system_build") == "24A446")
    #expect(Self.field(report, "access_control") == "that of iOS 26.3 and later")
    #expect(Self.field(report, "validation_category") == "3 (signed for development)")
    #expect(Self.field(report, "bundle_version") == "1314")
    #expect(Self.detail(report, "validation category") == "3, signed for development")
  }

  /// A change in the authenticator data breaks the nonce, and still each later step is judged for itself: under Apple's own root.
  @Test(arguments: [
    (0, ["nonce in certificate": "nonce_mismatch", "RP ID hash": "rp_id_mismatch"]),
    (32, ["nonce in certificate": "nonce_mismatch"]),
    (36, ["nonce in certificate": "nonce_mismatch", "counter": "counter_not_zero"]),
    (37, ["nonce in certificate": "nonce_mismatch", "environment": "environment_not_allowed"]),
    (52, ["nonce in certificate": "nonce_mismatch", "environment": "environment_not_allowed"]),
    (55, ["nonce in certificate": "nonce_mismatch", "credential identifier": "credential_id_mismatch"]),
    (97, ["nonce in certificate": "nonce_mismatch", "credential public key": "key_id_mismatch"]),
  ])
  func theStepsAfterAFailureAreJudged(offset: Int, expected: [String: String]) {
    for vector in Vector.attestations {
      var parts = AttestationParts(vector)
      parts.authenticatorData[offset] ^= 1
      let report = Self.inspection(vector).report(on: parts.encoded)
      #expect(Self.notPassed(report) == expected)
      #expect(report.code == "nonce_mismatch")
    }
  }

  @Test func theFirstFailureNamesTheVerdict() {
    let vector = Vector.newest
    var inspection = Self.inspection(vector)
    inspection.unixSeconds += 400 * 86_400
    inspection.keyIdentifier = KeyIdentifier(SHA256.digest([1].span))
    let report = inspection.report(on: vector.bytes)
    #expect(report.code == "certificate_chain_invalid")
    #expect(
      Self.notPassed(report) == [
        "certificate chain": "certificate_chain_invalid", "key identifier": "key_id_mismatch",
        "credential identifier": "credential_id_mismatch",
      ])
    #expect(Self.detail(report, "certificate chain").hasPrefix("a certificate has expired"))
  }

  @Test(arguments: Vector.attestations)
  func theVerifierAndTheInspectionAgree(vector: Vector) {
    for (name, bytes) in SpoiledAttestationTests.encodings(vector) {
      #expect(Self.inspection(vector).report(on: bytes).code == vector.verdict(on: bytes).code, "\(name)")
    }
    for (name, _, spoil) in SpoiledAttestationTests.spoils {
      var parts = AttestationParts(vector)
      spoil(&parts)
      #expect(Self.inspection(vector).report(on: parts.encoded).code == vector.verdict(on: parts.encoded).code, "\(name)")
    }
  }

  /// Apple's two published samples pass the challenge itself; the developers who copy them learn why theirs fails.
  @Test(arguments: Vector.attestations)
  func aChallengeThatWasNotHashedIsNamed(vector: Vector) {
    var inspection = Self.inspection(vector)
    inspection.clientDataHash = nil
    inspection.challenge = vector.challenge
    let report = inspection.report(on: vector.bytes)
    #expect(report.code == (vector.hashesChallenge ? nil : "nonce_mismatch"))
    #expect(Self.detail(report, "nonce in certificate").contains("the challenge itself") == !vector.hashesChallenge)
  }

  @Test func otherMistakesWithTheChallengeAreNamed() {
    var draft = TestAuthority().draft()
    func detail(challenge: [UInt8]) -> String {
      var inspection = AttestationInspection(at: TestAuthority.now)
      inspection.challenge = challenge
      inspection.trustRoots = [draft.authority.root.certificate]
      return Self.detail(inspection.report(on: draft.object), "nonce in certificate")
    }
    let challenge = Array("YSBjaGFsbGVuZ2U=".utf8)
    draft.challenge = challenge
    #expect(detail(challenge: challenge) == "equal")
    draft.challenge = Base64.decode(challenge.span, maximum: 100)!
    #expect(detail(challenge: challenge).contains("decoded the challenge from base64"))
    draft.challenge = Array(Base64.encode(challenge.span).utf8)
    #expect(detail(challenge: challenge).contains("encoded the challenge in base64"))
    draft.challenge = SHA256.digest(challenge.span).bytes
    #expect(detail(challenge: challenge).contains("hashed the client data hash once more"))
    draft.challenge = [1]
    #expect(detail(challenge: challenge).contains("another challenge"))
  }

  @Test func theAppThatMadeItIsNamed() {
    var inspection = Self.inspection(.newest)
    inspection.app = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")
    let report = inspection.report(on: Vector.newest.bytes)
    #expect(report.code == "rp_id_mismatch")
    #expect(Self.detail(report, "RP ID hash").contains("J4Y28BA299.swiss.ricardo.iphone.beta"))
  }

  @Test(arguments: Vector.assertions)
  func aRealAssertionPassesEveryStep(vector: Vector) {
    let report = Self.assertionInspection(vector).report(on: vector.bytes)
    #expect(report.code == nil)
    #expect(Self.notPassed(report) == ["challenge": "skipped"])
    #expect(report.steps.compactMap(\.number) == Array(1...8))
    let candidates = Self.field(report, "possible_key_ids")?.split(separator: " ").map(String.init) ?? []
    #expect(candidates.contains(vector.keyIdentifier.base64))
    #expect(Set(report.fields.map(\.name)).count == report.fields.count)
  }

  @Test(arguments: Vector.assertions)
  func theKeyIdentifierSuffices(vector: Vector) {
    var inspection = Self.assertionInspection(vector)
    inspection.publicKey = nil
    #expect(Self.results(inspection.report(on: vector.bytes))["signature"] == "skipped")
    inspection.keyIdentifier = vector.keyIdentifier
    #expect(Self.results(inspection.report(on: vector.bytes))["signature"] == "pass")
    inspection.keyIdentifier = KeyIdentifier(SHA256.digest([1].span))
    #expect(inspection.report(on: vector.bytes).code == "signature_invalid")
    inspection.publicKey = vector.publicKey
    #expect(inspection.report(on: vector.bytes).code == "key_id_mismatch")
  }

  @Test(arguments: Vector.assertions)
  func eachExpectationOfAnAssertionFailsWithItsCode(vector: Vector) {
    func code(_ change: (inout AssertionInspection) -> Void) -> String? {
      var inspection = Self.assertionInspection(vector)
      change(&inspection)
      return inspection.report(on: vector.bytes).code
    }
    #expect(code { $0.previousCounter = nil } == nil)
    #expect(code { $0.previousCounter = 1 } == "counter_replayed")
    #expect(code { $0.app = AppIdentity(prefix: "X", bundleIdentifier: "y") } == "rp_id_mismatch")
    #expect(code { $0.clientData = [1] } == "signature_invalid")
    #expect(code { $0.publicKey = [4] + [UInt8](repeating: 1, count: 64) } == "key_id_mismatch")
    #expect(code { $0.publicKey = [] } == "key_id_mismatch")
    #expect(code { $0.challenge = Array(vector.clientData.prefix(4)) } == nil)
    #expect(code { $0.challenge = Array("none of it".utf8) } == "challenge_missing")
    #expect(code { $0.challenge = [] } == "challenge_missing")
    #expect(
      code {
        $0.clientData = nil
        $0.clientDataHash = vector.clientDataDigest
      } == nil)
    #expect(AssertionInspection().report(on: vector.bytes).code == nil)
    #expect(Self.assertionInspection(vector).report(on: [0xA2]).code == "assertion_malformed")
  }

  @Test func aLineFeedTooManyInTheClientDataIsNamed() {
    let vector = Vector.assertions[0]
    var inspection = Self.assertionInspection(vector)
    inspection.clientData?.append(0x0A)
    let report = inspection.report(on: vector.bytes)
    #expect(report.code == "signature_invalid")
    #expect(Self.detail(report, "signature").contains("line feed"))
  }

  @Test func anEscapedChallengeIsFound() {
    var inspection = AssertionInspection()
    inspection.challenge = Array("a/b".utf8)
    inspection.clientData = Array(#"{"challenge":"a\/b"}"#.utf8)
    #expect(Self.results(inspection.report(on: Vector.assertions[0].bytes))["challenge"] == "pass")
  }
}
