import Bytes
import Cryptography

extension ReportField {
  /// Everything that can be read of an attestation object, whether or not it holds.
  static func fields(ofAttestation bytes: [UInt8]) -> [ReportField] {
    guard let object = try? AttestationObject(bytes.span) else { return [] }
    var fields = [
      ReportField(name: "attestation_sha256", value: Hexadecimal.encode(SHA256.digest(bytes.span).bytes.span)),
      ReportField(name: "receipt_bytes", value: "\(object.receipt.count)"),
    ]
    fields += self.fields(of: object.decoded)
    if let leaf = object.certificates.first.flatMap({ try? Certificate(der: $0.span) }) { fields += self.fields(ofLeaf: leaf) }
    let issuers = object.certificates.dropFirst().compactMap { try? Certificate(der: $0.span).subject }
    if !issuers.isEmpty { fields.append(ReportField(name: "issuers", value: issuers.joined(separator: "; "))) }
    return fields
  }

  /// Everything that can be read of an assertion.
  static func fields(of assertion: Assertion) -> [ReportField] {
    fields(of: assertion.decoded) + [ReportField(name: "signature", value: Base64.encode(assertion.signature))]
  }

  private static func fields(of data: AuthenticatorData) -> [ReportField] {
    var fields = [
      ReportField(name: "rp_id_hash", value: Hexadecimal.encode(data.rpIDHash.bytes.span)),
      ReportField(name: "flags", value: "0x" + Hexadecimal.encode([data.flags].span)),
      ReportField(name: "counter", value: "\(data.counter)"),
    ]
    if let credential = data.credential {
      fields += [
        ReportField(name: "aaguid", value: text(ofAAGUID: credential.aaguid)),
        ReportField(name: "credential_id", value: credential.identifier.base64),
        ReportField(name: "credential_public_key", value: Base64.encode(credential.publicKey.span)),
      ]
    }
    if let category = data.extensions.category {
      fields.append(
        ReportField(name: "validation_category", value: "\(category) (\(AuthenticatorExtensions.meaning(ofCategory: category)))"))
    }
    if let version = data.extensions.bundleVersion { fields.append(ReportField(name: "bundle_version", value: version)) }
    return fields
  }

  private static func fields(ofLeaf leaf: Certificate) -> [ReportField] {
    var fields = [
      ReportField(name: "leaf_subject", value: leaf.subject),
      ReportField(name: "leaf_not_before", value: UTCTime.text(leaf.notBefore)),
      ReportField(name: "leaf_not_after", value: UTCTime.text(leaf.notAfter)),
    ]
    if let key = leaf.subjectPublicKeyX963 {
      fields += [
        ReportField(name: "leaf_public_key", value: Base64.encode(key.span)),
        ReportField(name: "leaf_key_id", value: KeyIdentifier(SHA256.digest(key.span)).base64),
      ]
    }
    let details = LeafDetails(leaf)
    let texts = [
      ("leaf_app_id", details.appID), ("platform", details.platform), ("system_version", details.systemVersion),
      ("system_build", details.systemBuild), ("access_control", details.accessControl.map(text(ofAccessControl:))),
    ]
    for (name, text) in texts { if let text { fields.append(ReportField(name: name, value: text)) } }
    return fields
  }

  private static func text(ofAAGUID aaguid: [UInt8]) -> String {
    let letters = aaguid.prefix { $0 != 0 }
    guard letters.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), aaguid.dropFirst(letters.count).allSatisfy({ $0 == 0 }), !letters.isEmpty else {
      return Hexadecimal.encode(aaguid.span)
    }
    return String(decoding: letters, as: UTF8.self)
  }

  private static func text(ofAccessControl list: [UInt8]) -> String {
    switch list {
    case LeafDetails.secureMacAccessControl: "a Mac with System Integrity Protection and Full Security"
    case LeafDetails.mobileAccessControl: "that of iOS 26.3 and later"
    default: Base64.encode(list.span)
    }
  }
}
