import COpenSSL

/// Whether a leaf is vouched for by a pinned anchor.
public enum ChainVerdict: Sendable, Equatable {
  /// Every signature and every date holds; `anchor` is the fingerprint (SHA-256 of the DER) of the pinned certificate at the end.
  case trusted(anchor: SHA256Digest)
  /// Not vouched for.
  case refused(ChainRefusal)
}

/// Why a chain is not trusted.
public enum ChainRefusal: Sendable, Equatable, CustomStringConvertible {
  /// A certificate of the chain is not valid yet.
  case notYetValid
  /// A certificate of the chain is not valid any more.
  case expired
  /// No pinned anchor issued the chain's last certificate, or one in between is missing.
  case issuerUnknown
  /// A signature does not verify.
  case signatureInvalid
  /// An issuer is no authority, or not for a chain this long (basicConstraints, keyUsage).
  case issuerNotAuthority
  /// A critical extension that is not understood.
  case criticalExtensionUnknown
  /// The certificates do not form exactly the chain that was given: one of them is not needed, or out of order.
  case notTheGivenChain
  /// Anything else libcrypto finds wrong, in its words.
  case other(String)

  /// For people.
  public var description: String {
    switch self {
    case .notYetValid: "a certificate is not valid yet"
    case .expired: "a certificate has expired"
    case .issuerUnknown: "the issuer is none of the trusted roots"
    case .signatureInvalid: "a certificate's signature is not valid"
    case .issuerNotAuthority: "an issuer is not a certificate authority for this chain"
    case .criticalExtensionUnknown: "a critical extension is not known"
    case .notTheGivenChain: "the certificates do not form one chain in the given order"
    case .other(let text): text
    }
  }
}

/// A leaf and the certificates between it and an anchor, each issued by the next.
public struct CertificateChain: Sendable {
  /// The certificate in question.
  public let leaf: Certificate
  /// Its issuer, the issuer's issuer and so on, without the anchor. Nothing in here is ever trusted for itself, self-signed or not.
  public let intermediates: [Certificate]

  /// Most certificates between leaf and anchor; App Attest has one.
  public static let intermediatesMax = 4

  /// The end of the year 9999, beyond which no certificate can write a time.
  private static let unixSecondsMax = 253_402_300_799

  /// A chain that is not verified yet.
  public init(leaf: Certificate, intermediates: [Certificate]) {
    self.leaf = leaf
    self.intermediates = intermediates
  }

  /// Verifies the chain by RFC 5280 section 6 at a given time, with `anchors` as the only trusted certificates.
  ///
  /// Strict: no system store, nothing fetched, at least 112 bits of security, every issuer an authority by its basicConstraints and keyUsage, and
  /// exactly the given certificates in the given order. An anchor must be self-signed and valid at that time itself. (libcrypto's own strict flag
  /// also asks for an authority key identifier, which Apple's leaves do not have.) About 2 ms for Apple's chain.
  public func verify(anchors: [Certificate], at unixSeconds: Int) -> ChainVerdict {
    guard intermediates.count <= Self.intermediatesMax else { return .refused(.notTheGivenChain) }
    defer { ErrorQueue.clear() }
    let context = unsafe Owned(allocated: X509_STORE_CTX_new(), X509_STORE_CTX_free)
    let trusted = unsafe Owned(allocated: X509_STORE_new(), X509_STORE_free)
    let untrusted = unsafe Owned(allocated: cossl_certificates_new(), cossl_certificates_free)
    do throws(CertificateFailure) {
      for anchor in anchors {
        let parsed = try ParsedCertificate(anchor)
        guard unsafe X509_STORE_add_cert(trusted.pointer, parsed.pointer) == 1 else { return .refused(.other("an anchor cannot be used")) }
      }
      for intermediate in intermediates {
        let parsed = try ParsedCertificate(intermediate)
        guard unsafe cossl_certificates_push(untrusted.pointer, parsed.pointer) == 1 else { return .refused(.other("out of memory")) }
      }
      let leaf = try ParsedCertificate(leaf)
      guard unsafe X509_STORE_CTX_init(context.pointer, trusted.pointer, leaf.pointer, untrusted.pointer) == 1 else {
        return .refused(.other("the chain cannot be verified"))
      }
      // The context borrows the leaf and both sets; all outlive it here.
      return verdict(of: context, at: unixSeconds)
    } catch {
      return .refused(.other("\(error)"))
    }
  }

  private func verdict(of context: borrowing Owned, at unixSeconds: Int) -> ChainVerdict {
    let parameters = unsafe X509_STORE_CTX_get0_param(context.pointer)
    unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(min(max(unixSeconds, 0), Self.unixSecondsMax)))
    unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(intermediates.count))
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    guard unsafe X509_verify_cert(context.pointer) == 1 else {
      return unsafe .refused(ChainRefusal(verificationError: X509_STORE_CTX_get_error(context.pointer)))
    }
    return unsafe verdict(onChain: X509_STORE_CTX_get0_chain(context.pointer))
  }

  /// What libcrypto built must be what was given and an anchor, and each issuer an authority by basicConstraints:
  /// without the strict flag libcrypto takes older signs for it too.
  private func verdict(onChain chain: OpaquePointer?) -> ChainVerdict {
    var digests = [SHA256Digest]()
    for index in unsafe 0..<cossl_certificates_count(chain) {
      guard let certificate = unsafe cossl_certificates_at(chain, index) else { return .refused(.notTheGivenChain) }
      if index > 0, unsafe X509_check_ca(certificate) != 1 { return .refused(.issuerNotAuthority) }
      digests.append(unsafe ParsedCertificate.fingerprint(certificate))
    }
    let given = ([leaf] + intermediates).map(\.digest)
    guard digests.count == given.count + 1, digests.starts(with: given) else { return .refused(.notTheGivenChain) }
    return .trusted(anchor: digests[given.count])
  }
}

extension ChainRefusal {
  fileprivate init(verificationError code: Int32) {
    switch code {
    case X509_V_ERR_CERT_NOT_YET_VALID: self = .notYetValid
    case X509_V_ERR_CERT_HAS_EXPIRED: self = .expired
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_CHAIN_TOO_LONG,
      X509_V_ERR_CERT_UNTRUSTED:
      self = .issuerUnknown
    case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE: self = .signatureInvalid
    case X509_V_ERR_INVALID_CA, X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_INVALID_NON_CA:
      self = .issuerNotAuthority
    case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: self = .criticalExtensionUnknown
    default: self = unsafe .other(String(cString: X509_verify_cert_error_string(Int(code))))
    }
  }
}
