import COpenSSL

/// A certificate with the chain below its root, and the private key that belongs to it. Immutable, and shared by threads.
@safe
public final class TLSIdentity: @unchecked Sendable {
  /// What kind of key it has: a server may have one of each for a name, and the client chooses.
  public enum KeyKind: String, Sendable, CaseIterable {
    /// RSA, at least 2,048 bits.
    case rsa = "RSA"
    /// An elliptic curve.
    case ellipticCurve = "ECDSA"
    /// Ed25519.
    case edwards = "Ed25519"
  }

  /// The DNS names that it is good for, in lower case, wildcards as they are; the subject's common name where there are none.
  public let names: [String]
  /// When it expires, in seconds since 1970.
  public let notAfter: Int
  /// When it begins to hold, in seconds since 1970.
  public let notBefore: Int
  /// The kind of its key.
  public let keyKind: KeyKind

  /// Who signed it, where that authority's certificate is not in the chain behind it and it did not sign itself: a client that does not
  /// know that authority by itself refuses it.
  public let missingIssuer: String?

  /// What it was read from: two of the same bytes are one identity.
  let source: [[UInt8]]

  // Immutable once made; libcrypto counts their references atomically.
  let certificate: OpaquePointer
  let chain: OpaquePointer?
  let key: OpaquePointer

  /// Reads PEM: a certificate first, then its chain, and a private key without a passphrase that belongs to it.
  public init(certificate certificatePEM: [UInt8], privateKey keyPEM: [UInt8]) throws(TLSFailure) {
    ERR_clear_error()
    defer { ERR_clear_error() }
    let chain = unsafe Self.certificates(certificatePEM)
    guard let leaf = unsafe cossl_certificates_take_first(chain) else {
      unsafe cossl_certificates_free(chain)
      let isKey = Self.isPrivateKey(certificatePEM)
      throw TLSFailure(.ours, "there is no certificate in PEM form" + (isKey ? " but a private key; are the two files exchanged?" : ""))
    }
    guard let key = unsafe Self.privateKey(keyPEM) else {
      unsafe X509_free(leaf)
      unsafe cossl_certificates_free(chain)
      throw TLSFailure(.ours, "there is no private key in PEM form without a passphrase")
    }
    guard unsafe X509_check_private_key(leaf, key) == 1, let kind = unsafe Self.kind(of: key),
      let notBefore = unsafe Self.seconds(X509_get0_notBefore(leaf)), let notAfter = unsafe Self.seconds(X509_get0_notAfter(leaf))
    else {
      let matches = unsafe X509_check_private_key(leaf, key) == 1
      let isKnown = unsafe Self.kind(of: key) != nil
      let owner = unsafe Self.place(of: key, in: chain)
      unsafe X509_free(leaf)
      unsafe cossl_certificates_free(chain)
      unsafe EVP_PKEY_free(key)
      guard matches else { throw TLSFailure(.ours, Self.complaint(ofKeyOfCertificate: owner)) }
      throw TLSFailure(.ours, isKnown ? "the certificate is malformed" : "the key is neither RSA of 2048 bits or more, ECDSA nor Ed25519")
    }
    unsafe self.certificate = unsafe leaf
    unsafe self.key = unsafe key
    unsafe self.chain = unsafe chain
    source = [certificatePEM, keyPEM]
    keyKind = kind
    self.notBefore = notBefore
    self.notAfter = notAfter
    names = unsafe CertificateNames.served(by: leaf)
    missingIssuer = unsafe Self.missingIssuer(of: leaf, in: chain)
  }

  deinit {
    unsafe X509_free(certificate)
    unsafe cossl_certificates_free(chain)
    unsafe EVP_PKEY_free(key)
  }

  /// Every certificate in PEM form in `text`, as one stack, which the caller frees.
  static func certificates(_ text: [UInt8]) -> OpaquePointer? {
    unsafe text.withUnsafeBytes { bytes in
      let found = unsafe cossl_certificates_new()
      guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return unsafe found }
      defer { unsafe _ = BIO_free(source) }
      while let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
        _ = unsafe cossl_certificates_push(found, certificate)
        unsafe X509_free(certificate)
      }
      return unsafe found
    }
  }

  private static func privateKey(_ text: [UInt8]) -> OpaquePointer? {
    unsafe text.withUnsafeBytes { bytes in
      guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
      defer { unsafe _ = BIO_free(source) }
      // Nobody is there to be asked for a passphrase.
      return unsafe PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil)
    }
  }

  private static func isPrivateKey(_ text: [UInt8]) -> Bool {
    guard let key = unsafe privateKey(text) else { return false }
    unsafe EVP_PKEY_free(key)
    return true
  }

  /// The number, in the file, of the certificate behind the first that `key` belongs to; nil when there is none.
  private static func place(of key: OpaquePointer, in chain: OpaquePointer?) -> Int? {
    let count = unsafe cossl_certificates_count(chain)
    for index in 0..<max(0, count) where unsafe X509_check_private_key(cossl_certificates_at(chain, index), key) == 1 {
      return Int(index) + 2
    }
    return nil
  }

  private static func complaint(ofKeyOfCertificate place: Int?) -> String {
    guard let place else { return "the private key is another certificate's" }
    return "the private key is that of certificate \(place) of the file; put that one first, and behind it those that signed it"
  }

  private static func missingIssuer(of leaf: OpaquePointer, in chain: OpaquePointer?) -> String? {
    guard unsafe X509_NAME_cmp(X509_get_subject_name(leaf), X509_get_issuer_name(leaf)) != 0 else { return nil }
    let count = unsafe cossl_certificates_count(chain)
    for index in 0..<max(0, count) where unsafe X509_check_issued(cossl_certificates_at(chain, index), leaf) == X509_V_OK { return nil }
    return unsafe CertificateNames.text(of: X509_get_issuer_name(leaf)) ?? "an authority without a name"
  }

  private static func kind(of key: OpaquePointer) -> KeyKind? {
    switch unsafe EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA where unsafe EVP_PKEY_get_bits(key) >= 2048: .rsa
    case EVP_PKEY_EC: .ellipticCurve
    case EVP_PKEY_ED25519: .edwards
    default: nil
    }
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int? {
    var days: Int32 = 0
    var seconds: Int32 = 0
    let epoch = unsafe ASN1_TIME_set(nil, 0)
    defer { unsafe ASN1_TIME_free(epoch) }
    guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
    return Int(days) * 86_400 + Int(seconds)
  }
}
