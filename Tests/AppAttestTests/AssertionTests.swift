import AppAttest
import Bytes
import Cryptography
import Testing

@Suite struct AssertionTests {
  static func code(_ vector: Vector, _ bytes: [UInt8], hash: SHA256Digest? = nil, app: AppIdentity? = nil, key: [UInt8]? = nil) -> String? {
    let point = key ?? vector.publicKey
    let hash = hash ?? vector.clientDataDigest
    guard let assertion = try? Assertion(bytes) else { return AssertionRefusal.malformed.rawValue }
    let nonce = assertion.nonce(clientDataHash: hash).bytes
    guard let key = P256PublicKey(x963: point.span), let proof = key.verify(signature: assertion.signature, message: nonce.span) else {
      return AssertionRefusal.signatureInvalid.rawValue
    }
    switch assertion.verdict(signature: proof, clientDataHash: hash, rpIDHash: (app ?? vector.app).rpIDHash) {
    case .verified: return nil
    case .refused(let refusal): return refusal.rawValue
    }
  }

  @Test(arguments: Vector.assertions)
  func anotherExpectationIsRefused(vector: Vector) {
    #expect(Self.code(vector, vector.bytes) == nil)
    #expect(Self.code(vector, vector.bytes, hash: SHA256.digest([1].span)) == "signature_invalid")
    #expect(Self.code(vector, vector.bytes, app: AppIdentity(prefix: "X", bundleIdentifier: "y")) == "rp_id_mismatch")
    #expect(Self.code(vector, vector.bytes, key: P256PrivateKey.generate().x963) == "signature_invalid")
  }

  @Test(arguments: Vector.assertions)
  func noOtherBytesAreVerified(vector: Vector) {
    for index in vector.bytes.indices {
      for bit in 0..<8 {
        var bytes = vector.bytes
        bytes[index] ^= 1 << bit
        #expect(Self.code(vector, bytes) != nil, "byte \(index), bit \(bit)")
      }
    }
    for count in vector.bytes.indices { #expect(Self.code(vector, Array(vector.bytes.prefix(count))) == "assertion_malformed") }
  }

  /// Apple's devices sign the nonce as a message, so its SHA-256 is what ECDSA works on; a signer that leaves the second hash out is another thing.
  @Test(arguments: Vector.assertions)
  func devicesHashTheNonceOnceMore(vector: Vector) throws {
    let assertion = try Assertion(vector.bytes)
    let message = Array(copying: assertion.authenticatorData) + vector.clientDataHash
    let point = vector.publicKey
    let single = P256PublicKey(x963: point.span)?.verify(signature: assertion.signature, message: message.span)
    let isValid = single != nil
    #expect(!isValid)
  }

  struct Draft {
    let key = P256PrivateKey.generate()
    var data = AuthenticatorDataDraft(rpIDHash: TestAuthority.app.rpIDHash.bytes, counter: 1)
    var clientData = Array("client data".utf8)
    var hash: SHA256Digest { SHA256.digest(clientData.span) }

    func signature() -> [UInt8] {
      let nonce = SHA256.digest(data.assertion.span, hash.bytes.span).bytes
      return key.sign(message: nonce.span)
    }

    func members() -> [(Item, Item)] { [(.text("signature"), .bytes(signature())), (.text("authenticatorData"), .bytes(data.assertion))] }
    var bytes: [UInt8] { Item.map(members()).encoded }

    /// The verdict with a proof for `other` where one is given: for another assertion's signature.
    func refusal(proofOf other: Draft? = nil) -> AssertionRefusal? {
      let signer = other ?? self
      guard let assertion = try? Assertion(bytes), let signed = try? Assertion(signer.bytes) else { return .malformed }
      let point = signer.key.x963
      let nonce = signed.nonce(clientDataHash: signer.hash).bytes
      guard let proof = P256PublicKey(x963: point.span)?.verify(signature: signed.signature, message: nonce.span) else {
        return .signatureInvalid
      }
      switch assertion.verdict(signature: proof, clientDataHash: hash, rpIDHash: TestAuthority.app.rpIDHash) {
      case .verified: return nil
      case .refused(let refusal): return refusal
      }
    }
  }

  @Test func aProofStandsForItsOwnAssertionAlone() {
    let draft = Draft()
    #expect(draft.refusal() == nil)
    var later = draft
    later.data.counter = 2
    #expect(draft.refusal(proofOf: later) == .signatureInvalid)
    var other = draft
    other.clientData = Array("other client data".utf8)
    #expect(draft.refusal(proofOf: other) == .signatureInvalid)
  }

  @Test func aCounterOfZeroIsReplayed() throws {
    var draft = Draft()
    draft.data.counter = 0
    #expect(draft.refusal() == .counterReplayed)
    let assertion = try Assertion(draft.bytes)
    #expect(assertion.refusal(rpIDHash: TestAuthority.app.rpIDHash) == .counterReplayed)
    #expect(assertion.refusal(rpIDHash: SHA256.digest([0].span)) == .rpIDMismatch)
    draft.data.counter = .max
    #expect(draft.refusal() == nil)
  }

  @Test func aSignedMalformedExtensionIsMalformed() {
    var draft = Draft()
    draft.data.tail = Item.map([(.text("apple_validation_category_01"), .text("4"))]).encoded
    #expect(draft.refusal() == .malformed)
  }

  @Test func whatIsNotExactlyTheMapIsMalformed() {
    let draft = Draft()
    let members = draft.members()
    let good = Item.map(members).encoded
    let spoiled: [(String, [UInt8])] = [
      ("nothing", []), ("a byte behind", good + [0]), ("an indefinite map", [0xBF] + good.dropFirst() + [0xFF]),
      ("a long head", [0xB8, 2] + good.dropFirst()),
      ("no signature", Item.map([members[1]]).encoded), ("no authenticator data", Item.map([members[0]]).encoded),
      ("signature twice", Item.map(members + [members[0]]).encoded),
      ("a member more", Item.map(members + [(.text("x"), .bytes([]))]).encoded),
      ("a member with a number for its name", Item.map(members + [(.number(0), .bytes([]))]).encoded),
      ("signature as text", Item.map([(.text("signature"), .text("12345678")), members[1]]).encoded),
      ("an empty signature", Item.map([(.text("signature"), .bytes([])), members[1]]).encoded),
      ("a long signature", Item.map([(.text("signature"), .bytes([UInt8](repeating: 0, count: 73))), members[1]]).encoded),
      ("an array", Item.array([members[0].1, members[1].1]).encoded),
      ("a length beyond the end", [0xA2, 0x69] + Array("signature".utf8) + [0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
      (
        "oversize",
        Item.map([members[0], (.text("authenticatorData"), .bytes(draft.data.head + [UInt8](repeating: 0, count: 1024)))]).encoded
      ),
    ]
    #expect((try? Assertion(good)) != nil)
    for (name, bytes) in spoiled { #expect((try? Assertion(bytes)) == nil, "\(name)") }
    #expect((try? Assertion(Item.map(members.reversed()).encoded)) != nil)
  }
}
