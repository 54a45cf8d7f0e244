/// Proof that a public key signed a message: ECDSA on P-256 with SHA-256.
///
/// Only this file can make one, and only after the check; what rests on a signature asks for one (verified assertion, admission).
public struct SignatureValid: ~Copyable {
  /// SHA-256 of the key's uncompressed point, 65 bytes: the key identifier of App Attest.
  public let publicKeyDigest: SHA256Digest
  /// SHA-256 of the message that was signed, so that a proof cannot stand for another message.
  public let messageDigest: SHA256Digest

  fileprivate init(publicKeyDigest: SHA256Digest, messageDigest: SHA256Digest) {
    self.publicKeyDigest = publicKeyDigest
    self.messageDigest = messageDigest
  }
}

extension P256PublicKey {
  /// Verifies `signature` (strict DER, high S allowed) over `message`, which is hashed here. Nil when it is not valid.
  public func verify(signature: Span<UInt8>, message: Span<UInt8>) -> SignatureValid? {
    guard ECDSASignature(der: signature) != nil else { return nil }
    let digest = SHA256.digest(message)
    guard isSignature(signature, over: digest) else { return nil }
    return SignatureValid(publicKeyDigest: keyDigest, messageDigest: digest)
  }
}

extension RecoveredKey {
  /// The proof that this key signed the message: the equation that recovers a key is the one that verifies its signature,
  /// so no second check is needed. It says nothing about whether anybody knows this key.
  public consuming func proof() -> SignatureValid {
    SignatureValid(publicKeyDigest: digest, messageDigest: messageDigest)
  }
}
