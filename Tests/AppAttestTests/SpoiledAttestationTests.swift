import AppAttest
import Bytes
import Cryptography
import Testing

/// Real attestations, each spoiled in one way.
@Suite struct SpoiledAttestationTests {
  typealias Spoil = @Sendable (inout AttestationParts) -> Void

  @Test(arguments: Vector.attestations)
  func theyAreWrittenAsTheTestsWriteThem(vector: Vector) {
    #expect(AttestationParts(vector).encoded == vector.bytes)
  }

  static let root = AppleRoots.appAttestation.der
  static let spoils: [(name: String, code: String, spoil: Spoil)] = [
    ("another format", "attestation_format", { $0.format = "packed" }),
    ("a letter of the format", "attestation_format", { $0.format = "apple-appattesT" }),
    ("certificates swapped", "certificate_chain_invalid", { $0.certificates.swapAt(0, 1) }),
    ("leaf alone", "certificate_chain_invalid", { $0.certificates.removeLast() }),
    ("intermediate alone", "certificate_chain_invalid", { $0.certificates.removeFirst() }),
    ("no certificate", "certificate_chain_invalid", { $0.certificates = [] }),
    ("leaf twice", "certificate_chain_invalid", { $0.certificates[1] = $0.certificates[0] }),
    ("the root as third", "certificate_chain_invalid", { $0.certificates.append(root) }),
    ("the root for the intermediate", "certificate_chain_invalid", { $0.certificates[1] = root }),
    ("an empty leaf", "certificate_chain_invalid", { $0.certificates[0] = [] }),
    ("a byte behind the leaf", "certificate_chain_invalid", { $0.certificates[0].append(0) }),
    ("the leaf's first byte", "certificate_chain_invalid", { $0.certificates[0][0] ^= 1 }),
    ("the leaf's last byte", "certificate_chain_invalid", { $0.certificates[0][$0.certificates[0].count - 1] ^= 1 }),
    ("a byte of the intermediate's signature", "certificate_chain_invalid", { $0.certificates[1][$0.certificates[1].count - 9] ^= 1 }),
    ("RP ID hash", "nonce_mismatch", { $0.authenticatorData[0] ^= 1 }),
    ("flags", "nonce_mismatch", { $0.authenticatorData[32] ^= 1 }),
    ("counter", "nonce_mismatch", { $0.authenticatorData[36] ^= 1 }),
    ("aaguid", "nonce_mismatch", { $0.authenticatorData[37] ^= 1 }),
    ("length of the credential identifier", "attestation_malformed", { $0.authenticatorData[54] ^= 1 }),
    ("credential identifier", "nonce_mismatch", { $0.authenticatorData[55] ^= 1 }),
    ("COSE key type", "attestation_malformed", { $0.authenticatorData[89] ^= 1 }),
    ("COSE algorithm", "attestation_malformed", { $0.authenticatorData[91] ^= 1 }),
    ("COSE curve", "attestation_malformed", { $0.authenticatorData[93] ^= 1 }),
    ("X", "nonce_mismatch", { $0.authenticatorData[97] ^= 1 }),
    ("Y", "nonce_mismatch", { $0.authenticatorData[163] ^= 1 }),
    ("no authenticator data", "attestation_malformed", { $0.authenticatorData = [] }),
    ("authenticator data of an assertion", "attestation_malformed", { $0.authenticatorData.removeLast($0.authenticatorData.count - 37) }),
    ("no COSE key", "attestation_malformed", { $0.authenticatorData.removeLast($0.authenticatorData.count - 87) }),
    ("an empty receipt", "receipt_malformed", { $0.receipt = [] }),
    ("an oversized receipt", "receipt_malformed", { $0.receipt += [UInt8](repeating: 0, count: 8192) }),
    ("an oversized object", "attestation_malformed", { $0.receipt = [UInt8](repeating: 0, count: 16 << 10) }),
  ]

  @Test(arguments: Vector.attestations, spoils.indices)
  func onePartSpoiledIsRefusedWithItsCode(vector: Vector, index: Int) {
    var parts = AttestationParts(vector)
    Self.spoils[index].spoil(&parts)
    let verdict = vector.verdict(on: parts.encoded)
    #expect(verdict.code == Self.spoils[index].code, "\(Self.spoils[index].name): \(verdict)")
  }

  @Test(arguments: Vector.attestations)
  func theLeafIsGoodFromItsFirstSecondToItsLast(vector: Vector) {
    func code(at unixSeconds: Int) -> String? {
      vector.verifier.verify(
        object: vector.bytes, keyIdentifier: vector.keyIdentifier, clientDataHash: vector.clientDataHash, at: unixSeconds
      ).code
    }
    let validity = vector.entry.observed.leafValidity!.map { UTCTime.unixSeconds($0)! }
    #expect(code(at: validity[0] - 1) == "certificate_chain_invalid")
    #expect(code(at: validity[0]) == nil)
    // In its very last second libcrypto already calls it expired.
    #expect(code(at: validity[1] - 1) == nil)
    #expect(code(at: validity[1] + 1) == "certificate_chain_invalid")
    #expect(code(at: 0) == "certificate_chain_invalid")
  }

  @Test(arguments: Vector.attestations)
  func anotherExpectationIsRefusedWithItsCode(vector: Vector) throws {
    func code(
      app: AppIdentity? = nil, environments: Set<AttestationEnvironment>? = nil, roots: [Certificate] = [AppleRoots.appAttestation],
      keyIdentifier: KeyIdentifier? = nil, clientDataHash: [UInt8]? = nil
    ) -> String? {
      let app = AttestedApp(app ?? vector.app, environments: environments ?? [vector.environment], trustRoots: roots)
      return AttestationVerifier(apps: [app]).verify(
        object: vector.bytes, keyIdentifier: keyIdentifier ?? vector.keyIdentifier, clientDataHash: clientDataHash ?? vector.clientDataHash,
        at: vector.unixSeconds
      ).code
    }
    #expect(code() == nil)
    #expect(code(app: AppIdentity(prefix: vector.entry.teamId, bundleIdentifier: "com.example.other")) == "rp_id_mismatch")
    #expect(code(environments: Set(AttestationEnvironment.allCases).subtracting([vector.environment])) == "environment_not_allowed")
    #expect(code(environments: []) == "environment_not_allowed")
    let webAuthn = try Certificate(pem: Vector.file("certs/negative-apple-webauthn-root-ca.pem").span)
    let intermediate = try Certificate(pem: Vector.file("certs/apple-app-attestation-ca-1.pem").span)
    let receipts = try Certificate(pem: Vector.file("certs/apple-root-ca-g3.pem").span)
    #expect(code(roots: [webAuthn]) == "certificate_chain_invalid")
    #expect(code(roots: [receipts]) == "certificate_chain_invalid")
    #expect(code(roots: [intermediate]) == "certificate_chain_invalid")
    #expect(code(roots: [webAuthn, AppleRoots.appAttestation]) == nil)
    #expect(code(keyIdentifier: KeyIdentifier(SHA256.digest([0].span))) == "key_id_mismatch")
    #expect(code(clientDataHash: []) == "nonce_mismatch")
    #expect(code(clientDataHash: vector.clientDataHash + [0]) == "nonce_mismatch")
    #expect(code(clientDataHash: SHA256.digest(vector.clientDataHash.span).bytes) == "nonce_mismatch")
  }

  /// Each as bytes: what the CBOR itself can get wrong.
  static func encodings(_ vector: Vector) -> [(name: String, bytes: [UInt8])] {
    let parts = AttestationParts(vector)
    let good = vector.bytes
    let format = (Item.text("fmt"), Item.text("apple-appattest"))
    func with(statement: [(Item, Item)]) -> [UInt8] { Item.map([format, (.text("attStmt"), .map(statement)), parts.members[2]]).encoded }
    return [
      ("nothing", []), ("a byte behind", good + [0]), ("a second object behind", good + good), ("its last byte missing", good.dropLast()),
      ("its first half", Array(good[..<(good.count / 2)])), ("its first byte", [good[0]]),
      ("an indefinite map", [0xBF] + good.dropFirst() + [0xFF]), ("a long head", [0xB8, 0x03] + good.dropFirst()),
      ("a tag", [0xD9, 0xD9, 0xF7] + good), ("a member too many promised", [0xA4] + good.dropFirst()),
      ("a member too few promised", [0xA2] + good.dropFirst()),
      ("billions of members promised", [0xBA, 0xFF, 0xFF, 0xFF, 0xFF] + good.dropFirst()),
      ("an array", Item.array(parts.members.map(\.1)).encoded), ("base64 of it", Array(Base64.encode(good.span).utf8)),
      ("fmt twice", Item.map(parts.members + [format]).encoded), ("authData twice", Item.map(parts.members + [parts.members[2]]).encoded),
      ("a member more", Item.map(parts.members + [(.text("ver"), .text("1"))]).encoded),
      ("a member with a number for its name", Item.map(parts.members + [(.number(1), .text("1"))]).encoded),
      ("no fmt", Item.map(Array(parts.members.dropFirst())).encoded),
      ("no attStmt", Item.map([parts.members[0], parts.members[2]]).encoded),
      ("no authData", Item.map(Array(parts.members.dropLast())).encoded),
      ("fmt as bytes", Item.map([(.text("fmt"), .bytes(Array("apple-appattest".utf8)))] + parts.members.dropFirst()).encoded),
      ("authData as text", Item.map(parts.members.dropLast() + [(.text("authData"), .text("x"))]).encoded),
      ("x5c twice", with(statement: parts.statement + [parts.statement[0]])), ("no x5c", with(statement: [parts.statement[1]])),
      ("no receipt", with(statement: [parts.statement[0]])),
      ("a member of attStmt more", with(statement: parts.statement + [(.text("sig"), .bytes([1]))])),
      ("x5c as bytes", with(statement: [(.text("x5c"), .bytes(parts.certificates[0])), parts.statement[1]])),
      ("a certificate as text", with(statement: [(.text("x5c"), .array([.text("a"), .text("b")])), parts.statement[1]])),
      ("an indefinite receipt", with(statement: [parts.statement[0], (.text("receipt"), .raw([0x5F, 0x41, 0x01, 0xFF]))])),
      ("nesting without end", [UInt8](repeating: 0x81, count: 16_000)),
    ]
  }

  @Test(arguments: Vector.attestations)
  func whatIsNotExactlyTheMapIsMalformed(vector: Vector) {
    for (name, bytes) in Self.encodings(vector) {
      let verdict = vector.verdict(on: bytes)
      #expect(verdict.code == "attestation_malformed", "\(name): \(verdict)")
    }
  }

  @Test func theOrderOfMembersIsFree() {
    let vector = Vector.newest
    let parts = AttestationParts(vector)
    let statement = (Item.text("attStmt"), Item.map(parts.statement.reversed()))
    #expect(vector.verdict(on: Item.map([parts.members[2], statement, parts.members[0]]).encoded).code == nil)
  }

  /// What no signature covers, and what the verdict therefore says nothing about.
  @Test func theReceiptIsKeptAsItCame() {
    var parts = AttestationParts(.newest)
    parts.receipt[100] ^= 0xFF
    #expect(Vector.newest.verdict(on: parts.encoded).verified?.receipt == parts.receipt)
  }
}
