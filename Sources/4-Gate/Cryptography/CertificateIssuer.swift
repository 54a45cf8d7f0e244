import COpenSSL

/// A certificate authority on P-384, for the simulated device: a root, an intermediate, and the leaves of its devices.
public final class CertificateIssuer {
  /// The authority's own certificate.
  public let certificate: Certificate
  /// Its key.
  public let key: P384PrivateKey

  /// An authority from its certificate and key, which must belong together.
  public init(certificate: Certificate, key: P384PrivateKey) throws(CertificateFailure) {
    defer { ErrorQueue.clear() }
    let parsed = try ParsedCertificate(certificate)
    guard unsafe X509_check_private_key(parsed.pointer, key.key.pointer) == 1 else { throw .wrongKey }
    self.certificate = certificate
    self.key = key
  }

  /// A root: signed by its own key.
  public static func selfSigned(_ template: CertificateTemplate, key: P384PrivateKey) throws(CertificateFailure) -> CertificateIssuer {
    defer { ErrorQueue.clear() }
    let draft = try unsafe CertificateDraft(template, subjectKey: key.key.pointer)
    let certificate = try unsafe draft.signed(issuer: draft.pointer, key: key.key.pointer, hash: EVP_sha384())
    return try CertificateIssuer(certificate: certificate, key: key)
  }

  /// Issues an authority below this one, signed with SHA-384 as Apple's.
  public func issue(_ template: CertificateTemplate, to subject: P384PrivateKey) throws(CertificateFailure) -> CertificateIssuer {
    defer { ErrorQueue.clear() }
    let draft = try unsafe CertificateDraft(template, subjectKey: subject.key.pointer)
    let issuer = try ParsedCertificate(certificate)
    let issued = try unsafe draft.signed(issuer: issuer.pointer, key: key.key.pointer, hash: EVP_sha384())
    return try CertificateIssuer(certificate: issued, key: subject)
  }

  /// Issues a certificate to the P-256 key with this uncompressed point, signed with SHA-256 as Apple's.
  public func issue(_ template: CertificateTemplate, toP256 x963: Span<UInt8>) throws(CertificateFailure) -> Certificate {
    defer { ErrorQueue.clear() }
    guard let subject = EllipticCurve.p256.publicKey(x963: x963) else { throw .wrongKey }
    let draft = try unsafe CertificateDraft(template, subjectKey: subject.pointer)
    let issuer = try ParsedCertificate(certificate)
    return try unsafe draft.signed(issuer: issuer.pointer, key: key.key.pointer, hash: EVP_sha256())
  }
}
