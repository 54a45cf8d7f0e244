import AppAttest
import Bytes
import Cryptography

/// An attestation object that is taken encodes to an object with the same fields; nothing but what a device made is ever verified.
func checkAttestation(_ bytes: [UInt8]) throws(Broken) {
  guard let object = try? AttestationObject(bytes.span) else { return }
  let encoded = CBORWriting.map([
    (CBORWriting.text("authData"), CBORWriting.bytes(object.authenticatorData)),
    (
      CBORWriting.text("attStmt"),
      CBORWriting.map([
        (CBORWriting.text("receipt"), CBORWriting.bytes(object.receipt)),
        (CBORWriting.text("x5c"), CBORWriting.array(object.certificates.map(CBORWriting.bytes))),
      ])
    ),
    (CBORWriting.text("fmt"), CBORWriting.text("apple-appattest")),
  ])
  try require((try? AttestationObject(encoded.span)) == object, "is encoded as an object that reads otherwise")
  try checkAuthenticatorData(object)
  for certificate in object.certificates { try checkCertificate(certificate) }
  // Judging a chain takes far longer than all the rest: some inputs must do.
  if bytes.count < 1024 || bytes.count % 8 == 0 { try checkReport(bytes) }
}

/// Every step is judged, whatever the steps before it found, and no object passes all of them: none was made for this challenge.
private func checkReport(_ bytes: [UInt8]) throws(Broken) {
  var inspection = AttestationInspection(at: 1_790_000_000)
  inspection.challenge = [1, 2, 3]
  let report = inspection.report(on: bytes)
  try require(!report.fields.isEmpty, "nothing is told of an object that can be read")
  try require(report.code != nil, "an object is verified that no device made")
}

/// The authenticator data, written from its fields with no extensions but the known ones.
private func checkAuthenticatorData(_ object: AttestationObject) throws(Broken) {
  let data = object.decoded
  guard let credential = data.credential else { throw Broken(description: "an attestation without its key") }
  try require(credential.aaguid.count == 16 && credential.publicKey.count == 65, "a credential of another size")
  var encoded = data.head + credential.aaguid + [0, 32] + credential.identifier.digest.bytes
  encoded += CBORWriting.map([
    ([0x01], [0x02]), ([0x03], [0x26]), ([0x20], [0x01]),
    ([0x21], CBORWriting.bytes(Array(credential.publicKey[1..<33]))),
    ([0x22], CBORWriting.bytes(Array(credential.publicKey[33...]))),
  ])
  encoded += data.extensions.encoded
  try require((try? AuthenticatorData.decode(attestation: encoded.span)) == data, "authenticator data reads otherwise when written")
}

/// A certificate that is read keeps every bound, in whatever order its parts are asked for.
private func checkCertificate(_ der: [UInt8]) throws(Broken) {
  guard let certificate = try? Certificate(der: der.span) else { return }
  try require(certificate.der == der, "a certificate's bytes are others")
  try require(certificate.subjectPublicKeyX963.map { $0.count == 65 } ?? true, "a key of another size")
  for oid in certificate.extensionOIDs { try require(certificate.extensionValue(oid: oid) != nil, "extension \(oid) is lost") }
  try require((try? Certificate(pem: Array(certificate.pem.utf8).span)) == certificate, "a certificate reads otherwise as PEM")
}

extension AuthenticatorData {
  /// RP ID hash, flags and counter.
  var head: [UInt8] { rpIDHash.bytes + [flags] + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> UInt32(8 * $0)) } }
}

extension AuthenticatorExtensions {
  /// The known members as a map; nothing without any.
  var encoded: [UInt8] {
    var members: [([UInt8], [UInt8])] = []
    if let bundleVersion { members.append((CBORWriting.text("apple_bundle_version_01"), CBORWriting.text(bundleVersion))) }
    if let category {
      let bytes = (0..<4).map { UInt8(truncatingIfNeeded: category >> UInt32(8 * $0)) }
      members.append((CBORWriting.text("apple_validation_category_01"), CBORWriting.bytes(bytes)))
    }
    return members.isEmpty ? [] : CBORWriting.map(members)
  }
}
