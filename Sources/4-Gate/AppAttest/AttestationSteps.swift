import Bytes
import Cryptography

// What each step of the judgement does; AttestationJudgement.judge says when and why.
extension AttestationJudgement {
  func decodeObject(_ bytes: [UInt8]) -> Outcome<AttestationObject> {
    do throws(AttestationObject.Failure) {
      return .pass(try AttestationObject(bytes.span), "apple-appattest, \(bytes.count) bytes")
    } catch {
      switch error {
      case .malformed(let malformed): return .fail(.malformed, "\(malformed)")
      case .otherFormat(let format): return .fail(.format, "the format is \"\(format)\", not \"apple-appattest\"")
      }
    }
  }

  /// The receipt is kept for Apple's fraud assessment; nothing else is known of it here.
  func judgeReceipt(_ object: AttestationObject) -> Outcome<Void> {
    let count = object.receipt.count
    guard count > 0 else { return .fail(.receiptMalformed, "empty") }
    guard count <= AttestationObject.receiptByteCountMax else {
      return .fail(.receiptMalformed, "\(count) bytes, more than \(AttestationObject.receiptByteCountMax)")
    }
    return .pass((), "\(count) bytes, kept as they are")
  }

  /// The root that the certificates lead to, by its SHA-256.
  func findRoot(of certificates: AttestationCertificates?) -> Outcome<SHA256Digest> {
    guard let certificates else { return .skipped("no certificates") }
    let chain = CertificateChain(leaf: certificates.leaf, intermediates: [certificates.intermediate])
    switch chain.verify(anchors: trustRoots, at: unixSeconds) {
    case .trusted(let anchor):
      let root = trustRoots.first { $0.digest == anchor }
      return .pass(anchor, "ends at \(root?.subject ?? "a trusted root") at \(UTCTime.text(unixSeconds))")
    case .refused(let reason):
      return .fail(.certificateChainInvalid, "\(reason) at \(UTCTime.text(unixSeconds))")
    }
  }

  func takeClientDataHash() -> Outcome<[UInt8]> {
    guard let clientDataHash else { return .skipped("no --challenge or --client-data-hash") }
    return .pass(clientDataHash, Base64.encode(clientDataHash.span))
  }

  func makeNonce(_ object: AttestationObject, _ clientDataHash: [UInt8]?) -> Outcome<SHA256Digest> {
    guard let clientDataHash else { return .skipped("no client data hash") }
    let nonce = SHA256.digest(object.authenticatorData.span, clientDataHash.span)
    return .pass(nonce, Base64.encode(nonce.bytes.span))
  }

  func compareNonce(
    _ certificates: AttestationCertificates?, _ nonce: SHA256Digest?, _ object: AttestationObject
  ) -> Outcome<Void> {
    guard let certificates else { return .skipped("no certificates") }
    // SEQUENCE { [1] { OCTET STRING of 32 } }: the lengths are fixed, so the whole value is compared.
    let value = certificates.leaf.extensionValue(oid: "1.2.840.113635.100.8.2")
    guard let value, value.count == 38, value.starts(with: [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20]) else {
      return .fail(.nonceMismatch, "the leaf has no nonce (1.2.840.113635.100.8.2), or one of another form")
    }
    guard let nonce else { return .skipped("no nonce to compare with") }
    let certified = SHA256Digest(value.span.extracting(last: 32))
    if certified == nonce { return .pass((), "equal") }
    return .fail(.nonceMismatch, "another nonce: \(whyOther(nonce: certified, object))")
  }

  /// Mistakes that apps make in earnest; Apple's own published samples make the first.
  private func whyOther(nonce certified: SHA256Digest?, _ object: AttestationObject) -> String {
    func isCertified(_ clientDataHash: [UInt8]) -> Bool {
      SHA256.digest(object.authenticatorData.span, clientDataHash.span) == certified
    }
    if let challenge {
      if isCertified(challenge) { return "the app passed the challenge itself as clientDataHash, not its SHA-256" }
      if let decoded = Base64.decode(challenge.span, maximum: challenge.count), isCertified(SHA256.digest(decoded.span).bytes) {
        return "the app decoded the challenge from base64 before it hashed it"
      }
      let encoded = Array(Base64.encode(challenge.span).utf8)
      if isCertified(SHA256.digest(encoded.span).bytes) { return "the app encoded the challenge in base64 before it hashed it" }
    }
    if let clientDataHash, isCertified(SHA256.digest(clientDataHash.span).bytes) { return "the app hashed the client data hash once more" }
    return "the attestation answers another challenge, or its authenticator data was changed"
  }

  /// On a Mac the leaf must say that System Integrity Protection and Full Security were on. Other devices' leaves carry another list or
  /// none, and are let be. That a key is a Mac's is told by the platform that Apple writes into the leaf: this is observed, not documented.
  func judgeAccessControl(_ certificates: AttestationCertificates?) -> Outcome<Void> {
    guard let details = certificates?.details else { return .skipped("no certificates") }
    guard details.isMac else { return .notApplicable("asked of Macs only") }
    guard details.accessControl == LeafDetails.secureMacAccessControl else {
      return .fail(.environmentNotAllowed, "a Mac without System Integrity Protection and Full Security")
    }
    return .pass((), "a Mac with System Integrity Protection and Full Security")
  }

  func compareKeyIdentifier(_ certificates: AttestationCertificates?) -> Outcome<KeyIdentifier> {
    guard let certificates else { return .skipped("no certificates") }
    guard let keyIdentifier else { return .skipped("no --key-id") }
    guard certificates.keyIdentifier == keyIdentifier else {
      return .fail(.keyIDMismatch, "the certified key is \(certificates.keyIdentifier.base64), not \(keyIdentifier.base64)")
    }
    return .pass(keyIdentifier, keyIdentifier.base64)
  }

  func findApp(
    _ data: AuthenticatorData, _ certificates: AttestationCertificates?, _ root: SHA256Digest?
  ) -> Outcome<AttestedApp> {
    guard let apps else { return .skipped("no --app") }
    guard let app = apps.first(where: { $0.rpIDHash == data.rpIDHash }) else {
      let writtenID = certificates?.details.appID.map { "; the leaf names \($0)" }
      return .fail(.rpIDMismatch, "made for another app than \(apps.map(\.identity.description).joined(separator: ", "))\(writtenID ?? "")")
    }
    // Each app has its own roots; the chain was judged by those of all apps.
    guard root == nil || app.trustRoots.contains(where: { $0.digest == root }) else {
      return .fail(.certificateChainInvalid, "the chain ends at a root that \(app.identity) does not trust")
    }
    return .pass(app, app.identity.description)
  }

  func findEnvironment(_ data: AuthenticatorData, root: SHA256Digest?, app: AttestedApp?) -> Outcome<AttestationEnvironment> {
    guard let credential = data.credential else { return .skipped("no credential") }
    let environment: AttestationEnvironment
    if let root, root != AppleRoots.appAttestation.digest {
      // Whatever it writes there, it is not Apple.
      environment = .simulated
    } else if credential.aaguid.elementsEqual("appattestdevelop".utf8) {
      environment = .development
    } else if credential.aaguid.elementsEqual("appattest\0\0\0\0\0\0\0".utf8) {
      environment = .production
    } else {
      return .fail(.environmentNotAllowed, "unknown aaguid \(Hexadecimal.encode(credential.aaguid.span))")
    }
    guard (app?.environments ?? environments).contains(environment) else {
      return .fail(.environmentNotAllowed, "\(environment.rawValue) is not admitted")
    }
    return .pass(environment, environment.rawValue)
  }

  func compareCredentialIdentifier(_ data: AuthenticatorData, _ certificates: AttestationCertificates?) -> Outcome<Void> {
    guard let expected = keyIdentifier ?? certificates?.keyIdentifier, let credential = data.credential else {
      return .skipped("no key identifier")
    }
    guard credential.identifier == expected else {
      return .fail(.credentialIDMismatch, "\(credential.identifier.base64), not \(expected.base64)")
    }
    return .pass((), "the key identifier")
  }

  func compareCredentialKey(_ data: AuthenticatorData, _ certificates: AttestationCertificates?) -> Outcome<Void> {
    guard let certificates, let credential = data.credential else { return .skipped("no certificates") }
    guard credential.publicKey == certificates.publicKey else { return .fail(.keyIDMismatch, "not the certified key") }
    return .pass((), "the certified key")
  }
}
