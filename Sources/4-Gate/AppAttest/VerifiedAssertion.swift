public import Cryptography

/// Proof that an enrolled key signed this client data for its app. Only this file can make one, and only from a valid signature over the
/// assertion's own nonce.
///
/// Whether the counter is new and the challenge unused is the store's to say.
public struct VerifiedAssertion: ~Copyable, Sendable {
  /// The key that signed.
  public let keyIdentifier: KeyIdentifier
  /// Above zero.
  public let counter: UInt32
  /// SHA-256 of the client data that was signed.
  public let clientDataHash: SHA256Digest
  /// `apple_validation_category_01`, if the device wrote one.
  public let category: UInt32?
  /// `apple_bundle_version_01`, if the device wrote one.
  public let bundleVersion: String?

  fileprivate init(_ assertion: Assertion, keyIdentifier: KeyIdentifier, clientDataHash: SHA256Digest) {
    self.keyIdentifier = keyIdentifier
    counter = assertion.decoded.counter
    self.clientDataHash = clientDataHash
    category = assertion.decoded.extensions.category
    bundleVersion = assertion.decoded.extensions.bundleVersion
  }
}

/// What became of an assertion.
public enum AssertionVerdict: ~Copyable, Sendable {
  /// Signed for the app, with a counter above zero.
  case verified(VerifiedAssertion)
  /// The first check that failed.
  case refused(AssertionRefusal)
}

extension Assertion {
  /// The nonce that the device signed (App Attest steps 1 and 2): SHA-256 over the authenticator data followed by the client data hash.
  /// It is the *message* of the signature: ECDSA hashes it once more.
  public func nonce(clientDataHash: SHA256Digest) -> SHA256Digest {
    SHA256.digest(authenticatorData, clientDataHash.span)
  }

  /// What can be refused before the signature is verified, because it costs nothing: the app (step 4) and a counter of zero (step 5).
  public func refusal(rpIDHash: SHA256Digest) -> AssertionRefusal? {
    if decoded.rpIDHash != rpIDHash { return .rpIDMismatch }
    return hasCounted ? nil : .counterReplayed
  }

  /// The first assertion of a key has counter 1.
  var hasCounted: Bool { decoded.counter > 0 }

  /// Judges the assertion by a proof that some key made a signature: it must be over this nonce (step 3), and the assertion must be for
  /// the app (steps 4 and 5). Whose key it is, the caller knows by the identifier in the result.
  public func verdict(
    signature proof: consuming SignatureValid, clientDataHash: SHA256Digest, rpIDHash: SHA256Digest
  ) -> AssertionVerdict {
    let message = SHA256.digest(nonce(clientDataHash: clientDataHash).span)
    guard proof.messageDigest == message else { return .refused(.signatureInvalid) }
    if let refusal = refusal(rpIDHash: rpIDHash) { return .refused(refusal) }
    let keyIdentifier = KeyIdentifier(proof.publicKeyDigest)
    return .verified(VerifiedAssertion(self, keyIdentifier: keyIdentifier, clientDataHash: clientDataHash))
  }
}
