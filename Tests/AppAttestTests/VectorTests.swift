import AppAttest
import Bytes
import Cryptography
import Testing

@Suite struct VectorTests {
  @Test func theVectorsAreAllThere() {
    #expect(Vector.attestations.count == 9)
    #expect(Vector.assertions.count == 7)
  }

  @Test(arguments: Vector.attestations)
  func everyRealAttestationIsVerified(vector: Vector) {
    let verdict = vector.verdict(on: vector.bytes)
    guard let verified = verdict.verified else { return #expect(verdict.code == nil, "\(verdict)") }
    #expect(verified.keyIdentifier == vector.keyIdentifier)
    #expect(verified.publicKey == vector.publicKey)
    #expect(verified.app == vector.app)
    #expect(verified.environment == vector.environment)
    #expect(verified.trustRoot == AppleRoots.appAttestation.digest)
    #expect(verified.category == vector.entry.observed.extensions?.apple_validation_category_01.value)
    #expect(verified.bundleVersion == vector.entry.observed.extensions?.apple_bundle_version_01)
    #expect(verified.receipt.count > 3_000)
  }

  @Test(arguments: Vector.assertions)
  func everyRealAssertionIsVerifiedByItsKeyAndByRecovery(vector: Vector) throws {
    let assertion = try Assertion(vector.bytes)
    #expect(assertion.decoded.counter == vector.entry.counter)
    #expect(assertion.decoded.extensions.category == vector.entry.observed.extensions?.apple_validation_category_01.value)
    #expect(assertion.decoded.extensions.bundleVersion == vector.entry.observed.extensions?.apple_bundle_version_01)
    #expect(SHA256.digest(vector.clientData.span).bytes == vector.clientDataHash)

    let nonce = assertion.nonce(clientDataHash: vector.clientDataDigest).bytes
    let key = P256PublicKey(x963: vector.publicKey.span)
    let proof = key?.verify(signature: assertion.signature, message: nonce.span)
    guard let proof else { return #expect(Bool(false), "the signature is not valid") }
    #expect(Self.identifier(of: assertion, proof, vector) == vector.keyIdentifier)

    let candidates = PublicKeyRecovery().candidates(signature: assertion.signature, message: nonce.span)
    let recovered = candidates.filter { $0.digest == vector.keyIdentifier.digest }
    #expect(recovered.count == 1)
    for candidate in recovered { #expect(Self.identifier(of: assertion, candidate.proof(), vector) == vector.keyIdentifier) }
  }

  static func identifier(of assertion: Assertion, _ proof: consuming SignatureValid, _ vector: Vector) -> KeyIdentifier? {
    switch assertion.verdict(signature: proof, clientDataHash: vector.clientDataDigest, rpIDHash: vector.app.rpIDHash) {
    case .verified(let verified):
      guard verified.counter == vector.entry.counter, verified.clientDataHash == vector.clientDataDigest else { return nil }
      return verified.keyIdentifier
    case .refused: return nil
    }
  }

  @Test func theLayoutsOfEverySystemAreAmongThem() {
    let attested = Set(Vector.attestations.map { "\($0.entry.observed.flags!) \($0.entry.observed.extensions == nil ? "bare" : "map")" })
    #expect(attested == ["0x40 bare", "0x40 map", "0xc0 map"])
    let asserted = Set(Vector.assertions.map { "\($0.entry.observed.flags!) \($0.entry.observed.extensions == nil ? "bare" : "map")" })
    #expect(asserted == ["0x40 bare", "0xc0 map"])
  }

  @Test func theRootInTheSourceIsApples() throws {
    let fingerprint: [UInt8] = [
      0x1C, 0xB9, 0x82, 0x3B, 0xA2, 0x8B, 0xA6, 0xAD, 0x2D, 0x33, 0xA0, 0x06, 0x94, 0x1D, 0xE2, 0xAE,
      0x4F, 0x51, 0x3E, 0xF1, 0xD4, 0xE8, 0x31, 0xB9, 0xF7, 0xE0, 0xFA, 0x7B, 0x62, 0x42, 0xC9, 0x32,
    ]
    let root = AppleRoots.appAttestation
    #expect(root.digest.bytes == fingerprint)
    #expect(UTCTime.text(root.notBefore) == "2020-03-18T18:32:53Z")
    #expect(UTCTime.text(root.notAfter) == "2045-03-15T00:00:00Z")
    let file = try Certificate(pem: Vector.file("certs/apple-app-attestation-root-ca.pem").span)
    #expect(root == file)
  }
}
