import COpenSSL
public import EventLoop

/// The handshake, and what it agreed upon.
extension TLSSession {
  /// Agrees with the peer, or says why not: the alert that tells the peer so has been sent then.
  public func handshake(on loop: EventLoop, until deadline: Instant) async throws(TLSFailure) {
    while true {
      ERR_clear_error()
      let result = unsafe SSL_do_handshake(ssl)
      let error = unsafe result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl, result)
      guard error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ else {
        let failure = broken()
        // The alert, as far as it is taken at once.
        _ = sendFlight()
        throw failure
      }
      try await send(on: loop, until: deadline)
      if result == 1 { break }
      guard await loop.wait(for: .readable(socket), until: deadline) else { throw giveUp() }
    }
    establish()
    ERR_clear_error()
    if unsafe SSL_has_pending(ssl) == 1 { socket.keepReadable() }
  }

  private func send(on loop: EventLoop, until deadline: Instant) async throws(TLSFailure) {
    while true {
      switch sendFlight() {
      case .complete: return
      case .wouldBlock: guard await loop.wait(for: .writable(socket), until: deadline) else { throw giveUp() }
      case .failed: throw broken()
      }
    }
  }

  private func giveUp() -> TLSFailure {
    _ = breakDown()
    return TLSFailure(.time, "the handshake did not end in time")
  }

  private func broken() -> TLSFailure {
    let verdict = unsafe SSL_get_verify_result(ssl)
    _ = breakDown()
    guard verdict == Int(X509_V_OK) else {
      let text = unsafe String(cString: X509_verify_cert_error_string(verdict))
      return TLSFailure(.peer, "the certificate does not hold: \(text)\(mend(of: Int32(truncatingIfNeeded: verdict)))")
    }
    return failure ?? TLSFailure(.peer, "the handshake failed")
  }

  /// What an operator may do where the certificate of our server does not hold; nothing where it is a client's.
  private func mend(of verdict: Int32) -> String {
    guard case .client(let client) = role else { return "" }
    let shown = unsafe cossl_certificates_at(SSL_get0_verified_chain(ssl), 0)
    switch verdict {
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      // Whoever answers there has written them: not all of what may be tens of thousands, and no control characters for the operator's
      // terminal.
      let names = (unsafe shown.map { unsafe CertificateNames.served(by: $0, atMost: 3) } ?? []).filter {
        $0.utf8.allSatisfy { 0x21...0x7E ~= $0 }
      }
      let whose = names.isEmpty ? "" : " but for \(names.joined(separator: ", "))"
      return " (it is not for \(client.name)\(whose); tls.server_name names another, where that is right)"
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      let issuer = unsafe shown.flatMap { unsafe CertificateNames.text(of: X509_get_issuer_name($0)) } ?? "an authority without a name"
      return client.trustsSystem
        ? " (signed by \(issuer), which this system does not know; tls.ca names a file of other authorities, the package ca-certificates has the public ones)"
        : " (signed by \(issuer); tls.ca does not lead there)"
    default: return ""
    }
  }

  /// The version that was agreed upon.
  public var version: TLSVersion { unsafe SSL_version(ssl) == TLS1_2_VERSION ? .tls12 : .tls13 }

  /// By whom the peer's certificate is verified, where we are the server.
  public var authoritiesDigest: [UInt8]? { server?.authoritiesDigest }

  /// Whether an earlier session went on: no certificate was sent.
  public var isResumed: Bool { unsafe SSL_session_reused(ssl) == 1 }

  /// SHA-256 of the certificate that the peer showed and that holds; nil when it showed none.
  public var peerFingerprint: [UInt8]? {
    guard let certificate = unsafe SSL_get0_peer_certificate(ssl), unsafe SSL_get_verify_result(ssl) == Int(X509_V_OK) else { return nil }
    var digest = [UInt8](repeating: 0, count: 32)
    let done = unsafe digest.withUnsafeMutableBufferPointer { unsafe X509_digest(certificate, EVP_sha256(), $0.baseAddress, nil) }
    return done == 1 ? digest : nil
  }

  /// The subject of that certificate, RFC 2253.
  public var peerSubject: String? {
    guard let certificate = unsafe SSL_get0_peer_certificate(ssl) else { return nil }
    return unsafe CertificateNames.text(of: X509_get_subject_name(certificate))
  }
}
