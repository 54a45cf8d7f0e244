import AppAttest
import Bytes
import Cryptography
import Testing

/// Attestations that pass everything but one thing, made by an authority of the tests' own.
@Suite struct AttestationVerifierTests {
  typealias Spoil = @Sendable (inout AttestationDraft) -> Void

  @Test func anAttestationOfAPrivateAuthorityIsSimulated() throws {
    let draft = TestAuthority().draft()
    let verified = try #require(draft.verdict().verified)
    #expect(verified.keyIdentifier == draft.keyIdentifier)
    #expect(verified.publicKey == draft.key.x963)
    #expect(verified.app == TestAuthority.app)
    #expect(verified.environment == .simulated)
    #expect(verified.trustRoot == draft.authority.root.certificate.digest)
    #expect(verified.receipt == draft.receipt)
    #expect(verified.category == nil)
    #expect(verified.bundleVersion == nil)
  }

  @Test(arguments: [Array("appattest\0\0\0\0\0\0\0".utf8), Array("appattestdevelop".utf8), [UInt8](repeating: 7, count: 16)])
  func aPrivateAuthorityIsSimulatedWhateverItsAAGUID(aaguid: [UInt8]) {
    var draft = TestAuthority().draft()
    draft.data.aaguid = aaguid
    #expect(draft.verdict().verified?.environment == .simulated)
    #expect(draft.verdict(environments: [.production, .development]).code == "environment_not_allowed")
  }

  @Test(arguments: [0x00, 0x01, 0x40, 0x80, 0xC0, 0xFF] as [UInt8], [false, true])
  func theFlagsSayNothingAboutTheLayout(flags: UInt8, hasExtensions: Bool) {
    var draft = TestAuthority().draft()
    draft.data.flags = flags
    if hasExtensions { draft.data.tail = AuthenticatorDataDraft.extensions(category: 4, version: "27.1") }
    let verified = draft.verdict().verified
    #expect(verified != nil)
    #expect(verified?.category == (hasExtensions ? 4 : nil))
    #expect(verified?.bundleVersion == (hasExtensions ? "27.1" : nil))
  }

  static let spoils: [(name: String, code: String, spoil: Spoil)] = [
    ("counter 1", "counter_not_zero", { $0.data.counter = 1 }),
    ("highest counter", "counter_not_zero", { $0.data.counter = .max }),
    ("another RP ID", "rp_id_mismatch", { $0.data.rpIDHash[31] ^= 1 }),
    ("another credential identifier", "credential_id_mismatch", { $0.data.credentialIdentifier[0] ^= 1 }),
    ("another COSE key", "key_id_mismatch", { $0.data.coseKey = AuthenticatorDataDraft.coseKey(P256PrivateKey.generate().x963) }),
    ("another nonce", "nonce_mismatch", { $0.nonceExtension = { [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + $0.reversed() } }),
    ("no nonce", "nonce_mismatch", { $0.nonceExtension = { _ in nil } }),
    ("a nonce of another form", "nonce_mismatch", { $0.nonceExtension = { [0x04, 0x20] + $0 } }),
    ("a nonce with a byte behind it", "nonce_mismatch", { $0.nonceExtension = { [0x30, 0x25, 0xA1, 0x22, 0x04, 0x20] + $0 + [0] } }),
    ("an empty nonce", "nonce_mismatch", { $0.nonceExtension = { _ in [0x30, 0x04, 0xA1, 0x02, 0x04, 0x00] } }),
    ("a leaf not yet valid", "certificate_chain_invalid", { $0.notBefore = TestAuthority.now + 1 }),
    ("an expired leaf", "certificate_chain_invalid", { $0.notAfter = TestAuthority.now - 1 }),
    ("a leaf of another authority", "certificate_chain_invalid", { $0.authority = TestAuthority().swappingRoot(with: $0.authority) }),
    ("leaf alone", "certificate_chain_invalid", { $0.certificates = { [$0[0]] } }),
    ("the intermediate's key as leaf", "certificate_chain_invalid", { $0.certificates = { $0.reversed() } }),
    ("the intermediate twice", "certificate_chain_invalid", { $0.certificates = { $0 + [$0[1]] } }),
    ("an empty receipt", "receipt_malformed", { $0.receipt = [] }),
    ("a large receipt", "receipt_malformed", { $0.receipt = [UInt8](repeating: 1, count: AttestationObject.receiptByteCountMax + 1) }),
    (
      "a category as a number", "attestation_malformed",
      { $0.data.tail = Item.map([(.text("apple_validation_category_01"), .number(4))]).encoded }
    ),
    (
      "a version as bytes", "attestation_malformed",
      { $0.data.tail = Item.map([(.text("apple_bundle_version_01"), .bytes([0x31]))]).encoded }
    ),
    ("a byte behind the extensions", "attestation_malformed", { $0.data.tail = [0xA0, 0x00] }),
    ("extensions that are no map", "attestation_malformed", { $0.data.tail = [0x80] }),
  ]

  @Test(arguments: spoils.indices)
  func oneThingWrongIsRefusedWithItsCode(index: Int) {
    var draft = TestAuthority().draft()
    #expect(draft.verdict().code == nil)
    Self.spoils[index].spoil(&draft)
    #expect(draft.verdict().code == Self.spoils[index].code, "\(Self.spoils[index].name): \(draft.verdict())")
  }

  @Test func theLargestReceiptIsKept() {
    var draft = TestAuthority().draft()
    draft.receipt = [UInt8](repeating: 1, count: AttestationObject.receiptByteCountMax)
    #expect(draft.verdict().verified?.receipt.count == AttestationObject.receiptByteCountMax)
  }

  @Test func unknownExtensionMembersAreLetBe() {
    var draft = TestAuthority().draft()
    draft.data.tail =
      Item.map([
        (.text("apple_something_02"), .map([(.number(1), .array([.raw([0xF5]), .raw([0xF6])]))])), (.number(9), .bytes([1, 2])),
        (.text("apple_bundle_version_01"), .text("9")),
      ]).encoded
    #expect(draft.verdict().verified?.bundleVersion == "9")
  }

  @Test func eachAppHasItsOwnRootsAndEnvironments() {
    let draft = TestAuthority().draft()
    let other = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.other")
    let trusting = AttestedApp(other, environments: [.simulated], trustRoots: [draft.authority.root.certificate])
    // The root is known to the gate, but it is the other app's alone.
    let distrusting = AttestedApp(TestAuthority.app, environments: [.production, .development, .simulated])
    #expect(draft.verdict(apps: [distrusting, trusting]).code == "certificate_chain_invalid")
    #expect(draft.verdict(apps: [trusting]).code == "rp_id_mismatch")
    #expect(draft.verdict(apps: []).code == "certificate_chain_invalid")
    let right = AttestedApp(
      TestAuthority.app, environments: [.simulated], trustRoots: [AppleRoots.appAttestation, draft.authority.root.certificate])
    #expect(draft.verdict(apps: [trusting, right]).verified?.app == TestAuthority.app)
  }

  @Test func anIntermediateIsNoRoot() {
    let draft = TestAuthority().draft()
    #expect(draft.verdict(roots: [draft.authority.intermediate.certificate]).code == "certificate_chain_invalid")
    #expect(draft.verdict(roots: []).code == "certificate_chain_invalid")
  }

  @Test func aKeyIdentifierOfAnotherKeyIsRefused() {
    let draft = TestAuthority().draft()
    let app = AttestedApp(TestAuthority.app, environments: [.simulated], trustRoots: [draft.authority.root.certificate])
    let verdict = AttestationVerifier(apps: [app]).verify(
      object: draft.object, keyIdentifier: KeyIdentifier(SHA256.digest([1].span)), clientDataHash: draft.clientDataHash,
      at: TestAuthority.now)
    #expect(verdict.code == "key_id_mismatch")
  }

  static let secureMac = "MEAMAjExMDowCQwCb2uhAwEB/zAJDAJvYaEDAQH/MAsMBG9kZWyhAwEB/zAVDARvc2duoAYMBHJzZWMwBaYDAgEB"
  static let mobile = "MEMMAjExMD0wCgwDb2tkoQMBAf8wCQwCb2GhAwEB/zALDARvc2duoQMBAf8wCwwEb2RlbKEDAQH/MAoMA29ja6EDAQH/"

  @Test(
    arguments: [
      (nil, nil, nil), ("iphoneos", nil, nil), ("iphoneos", mobile, nil), ("iphoneos", "AAAA", nil), (nil, mobile, nil),
      ("macosx", secureMac, nil),
      ("macosx", mobile, "environment_not_allowed"), ("macosx", nil, "environment_not_allowed"),
    ] as [(String?, String?, String?)])
  func onlyAMacIsAskedForItsAccessControl(platform: String?, accessControl: String?, code: String?) {
    var draft = TestAuthority().draft()
    draft.platform = platform
    draft.accessControl = accessControl
    let verdict = draft.verdict()
    #expect(verdict.code == code, "\(verdict)")
  }
}

extension TestAuthority {
  private init(root: CertificateIssuer, intermediate: CertificateIssuer) {
    self.root = root
    self.intermediate = intermediate
  }

  /// This authority's intermediate under another's root, by which it was not issued.
  func swappingRoot(with other: TestAuthority) -> TestAuthority { TestAuthority(root: other.root, intermediate: intermediate) }
}
