import AppAttest
import Cryptography

/// An attestation authority with a root of its own, whose devices are `simulated`.
struct TestAuthority {
  let root: CertificateIssuer
  let intermediate: CertificateIssuer
  let now: Int

  init(now: Int) throws {
    self.now = now
    func template(_ name: String, pathLengthMax: Int?) -> CertificateTemplate {
      CertificateTemplate(
        subject: [CertificateTemplate.NamePart("CN", name)], notBefore: now - 86_400, notAfter: now + 86_400,
        constraints: .authority(pathLengthMax: pathLengthMax), keyUsage: [.keyCertSign, .cRLSign])
    }
    root = try CertificateIssuer.selfSigned(template("Test root", pathLengthMax: nil), key: .generate())
    intermediate = try root.issue(template("Test authority", pathLengthMax: 0), to: .generate())
  }

  /// The CBOR of `attestKey` for the device's key and the client data hash; `counter` is 0 in a good one.
  func attestation(of device: TestDevice, clientDataHash: SHA256Digest, counter: UInt8 = 0) throws -> [UInt8] {
    let point = device.key.x963
    var data = device.app.rpIDHash.bytes + [0x40, 0, 0, 0, counter] + Array("appattestdevelop".utf8) + [0, 32]
    data += device.identifier.digest.bytes
    data += [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21] + TestDevice.bytes(Array(point[1..<33])) + [0x22]
    data += TestDevice.bytes(Array(point[33..<65]))
    let nonce = SHA256.digest(data.span, clientDataHash.bytes.span).bytes
    let leaf = CertificateTemplate(
      subject: [CertificateTemplate.NamePart("CN", "leaf")], notBefore: now - 86_400, notAfter: now + 86_400, constraints: .endEntity,
      keyUsage: [.digitalSignature],
      extensions: [CertificateTemplate.Extension(oid: "1.2.840.113635.100.8.2", value: [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce)])
    let certificates = [try intermediate.issue(leaf, toP256: point.span).der, intermediate.certificate.der]
    var object: [UInt8] = [0xA3] + TestDevice.text("fmt") + TestDevice.text("apple-appattest") + TestDevice.text("attStmt") + [0xA2]
    object += TestDevice.text("x5c") + [0x82] + certificates.flatMap(TestDevice.bytes)
    object += TestDevice.text("receipt") + TestDevice.bytes(Array("receipt".utf8))
    return object + TestDevice.text("authData") + TestDevice.bytes(data)
  }
}
