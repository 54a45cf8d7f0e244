import COpenSSL

/// A version of TLS that the gate speaks.
public enum TLSVersion: String, Sendable, CaseIterable {
  /// RFC 5246.
  case tls12 = "1.2"
  /// RFC 8446.
  case tls13 = "1.3"

  var number: Int32 {
    switch self {
    case .tls12: TLS1_2_VERSION
    case .tls13: TLS1_3_VERSION
    }
  }
}

/// What both ends of TLS have in common: Mozilla's intermediate profile, which every client since 2014 speaks.
enum TLSDefaults {
  /// TLS 1.3's suites. The first of them is the cheapest that there is no reason not to want: its handshake hashes with SHA-256, for
  /// which processors have instructions.
  static let suites13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
  /// TLS 1.2's suites: forward secret and authenticated, nothing else.
  static let suites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
  static let groups = "X25519:P-256:P-384"
  /// HTTP/1.1 alone (RFC 7301): a client that offers nothing is served all the same.
  static let protocols: [UInt8] = [8] + Array("http/1.1".utf8)

  /// A context with the defaults.
  static func context(_ method: OpaquePointer?, minimum: TLSVersion) throws(TLSFailure) -> OpaquePointer {
    ERR_clear_error()
    guard let context = unsafe SSL_CTX_new(method) else { throw .drained(.ours, "libssl has no memory") }
    _ = unsafe SSL_CTX_set_options(context, cossl_tls_options())
    unsafe cossl_tls_set_modes(context)
    guard unsafe cossl_tls_set_minimum(context, minimum.number) == 1, unsafe SSL_CTX_set_cipher_list(context, suites) == 1,
      unsafe SSL_CTX_set_ciphersuites(context, suites13) == 1, unsafe cossl_tls_set_groups(context, groups) == 1
    else {
      unsafe SSL_CTX_free(context)
      throw .drained(.ours, "libssl does not know the defaults")
    }
    return unsafe context
  }

  /// Makes `context` trust the authorities in `pem`; those of the system where it is nil.
  static func trust(_ pem: [UInt8]?, in context: OpaquePointer) throws(TLSFailure) {
    guard let pem else {
      guard unsafe SSL_CTX_set_default_verify_paths(context) == 1 else { throw .drained(.ours, "the system's authorities cannot be read") }
      return
    }
    let authorities = unsafe TLSIdentity.certificates(pem)
    defer { unsafe cossl_certificates_free(authorities) }
    let count = unsafe cossl_certificates_count(authorities)
    guard count > 0 else { throw TLSFailure(.ours, "there is no certificate in PEM form") }
    let store = unsafe SSL_CTX_get_cert_store(context)
    for index in 0..<count where unsafe X509_STORE_add_cert(store, cossl_certificates_at(authorities, index)) != 1 {
      throw .drained(.ours, "an authority's certificate is not taken")
    }
    ERR_clear_error()
  }
}
