import Cryptography

/// The two certificates of an attestation object, read but not yet trusted.
struct AttestationCertificates: Sendable {
  /// About the device's key.
  let leaf: Certificate
  /// "Apple App Attestation CA 1", or a private authority's.
  let intermediate: Certificate
  /// The leaf's key as an uncompressed point, 65 bytes.
  let publicKey: [UInt8]
  /// SHA-256 of the point.
  let keyIdentifier: KeyIdentifier
  /// What Apple says of app and device.
  let details: LeafDetails

  /// Reads `x5c`, which must hold exactly these two: Apple writes no root into it, and a third certificate would only be one more to parse.
  static func read(_ object: AttestationObject) -> AttestationJudgement.Outcome<AttestationCertificates> {
    guard object.certificates.count == 2 else {
      return .fail(.certificateChainInvalid, "x5c holds \(object.certificates.count) certificates, not leaf and intermediate")
    }
    let (first, second) = (object.certificates[0], object.certificates[1])
    let leaf: Certificate
    let intermediate: Certificate
    do throws(CertificateFailure) {
      leaf = try Certificate(der: first.span)
      intermediate = try Certificate(der: second.span)
    } catch {
      return .fail(.certificateChainInvalid, "a certificate cannot be read: \(error)")
    }
    guard let publicKey = leaf.subjectPublicKeyX963 else {
      return .fail(.certificateChainInvalid, "the leaf's key is not an uncompressed point on P-256")
    }
    let certificates = AttestationCertificates(
      leaf: leaf, intermediate: intermediate, publicKey: publicKey, keyIdentifier: KeyIdentifier(SHA256.digest(publicKey.span)),
      details: LeafDetails(leaf))
    return .pass(certificates, "leaf valid from \(UTCTime.text(leaf.notBefore)) to \(UTCTime.text(leaf.notAfter))")
  }
}
