import Bytes
public import Cryptography

/// An attestation authority of one's own, shaped as Apple's: a P-384 root, a P-384 intermediate, and P-256 leaves that carry the nonce.
///
/// A gate that lists the root under `trust_roots` takes its attestations, as environment `simulated`. The root's key is forgotten once
/// it has issued the intermediate.
public final class SimulatedAuthority {
  /// What a gate trusts.
  public let root: Certificate
  private let intermediate: CertificateIssuer

  private static let daySeconds = 86_400
  private static let rootFile = "root.pem"
  private static let intermediateFile = "intermediate.pem"
  private static let intermediateKeyFile = "intermediate-key.pem"

  /// A new authority in memory, valid from a day before `unixSeconds` on for ten years.
  public init(at unixSeconds: Int) throws(DeviceFailure) {
    do throws(CertificateFailure) {
      let root = try CertificateIssuer.selfSigned(Self.authority("Simulated App Attestation Root CA", nil, unixSeconds), key: .generate())
      intermediate = try root.issue(Self.authority("Simulated App Attestation CA 1", 0, unixSeconds), to: .generate())
      self.root = root.certificate
    } catch {
      throw .certificate(error)
    }
  }

  /// A new authority whose files are put into `directory`: `root.pem`, `intermediate.pem`, and `intermediate-key.pem` with mode 0600.
  /// An authority that is there already is not overwritten.
  public convenience init(makingIn directory: String, at unixSeconds: Int) throws(DeviceFailure) {
    let folder = Folder(path: directory)
    try folder.make()
    for name in [Self.rootFile, Self.intermediateFile, Self.intermediateKeyFile] where folder.has(name) {
      throw .exists(path: folder.path(of: name))
    }
    try self.init(at: unixSeconds)
    try folder.writePrivately(Array(intermediate.key.pem.utf8), to: Self.intermediateKeyFile)
    try folder.write(intermediate.certificate.pem, to: Self.intermediateFile)
    // Last: who sees the root sees a whole authority.
    try folder.write(root.pem, to: Self.rootFile)
  }

  /// The authority whose files are in `directory`.
  public init(loadingFrom directory: String) throws(DeviceFailure) {
    let folder = Folder(path: directory)
    let keyText = try folder.read(Self.intermediateKeyFile, madeBy: "authority")
    guard let key = P384PrivateKey(pem: keyText.span) else { throw .damaged(path: folder.path(of: Self.intermediateKeyFile)) }
    root = try Self.certificate(Self.rootFile, in: folder)
    let certificate = try Self.certificate(Self.intermediateFile, in: folder)
    do throws(CertificateFailure) {
      intermediate = try CertificateIssuer(certificate: certificate, key: key)
    } catch {
      throw .certificate(error)
    }
  }

  /// Where `directory` holds the root, for a gate's `trust_roots`.
  public static func rootPath(in directory: String) -> String { Folder(path: directory).path(of: rootFile) }

  private static func certificate(_ name: String, in folder: Folder) throws(DeviceFailure) -> Certificate {
    let text = try folder.read(name, madeBy: "authority")
    guard let certificate = try? Certificate(pem: text.span) else { throw .damaged(path: folder.path(of: name)) }
    return certificate
  }

  private static func authority(_ name: String, _ pathLengthMax: Int?, _ unixSeconds: Int) -> CertificateTemplate {
    CertificateTemplate(
      subject: [.init("CN", name), .init("O", "Simulated")], notBefore: unixSeconds - daySeconds,
      notAfter: unixSeconds + 3_650 * daySeconds, constraints: .authority(pathLengthMax: pathLengthMax), keyUsage: [.keyCertSign, .cRLSign])
  }

  /// Certifies a device's key, as Apple does: named after the key, valid from a day ago for three days, with the nonce in
  /// `SEQUENCE { [1] { OCTET STRING } }` under the OID 1.2.840.113635.100.8.2. Leaf first, then its issuer, DER.
  func certify(_ publicKey: [UInt8], nonce: SHA256Digest, at unixSeconds: Int) throws(DeviceFailure) -> [[UInt8]] {
    let name = Hexadecimal.encode(SHA256.digest(publicKey.span).bytes.span)
    let template = CertificateTemplate(
      subject: [.init("CN", name), .init("OU", "AAA Certification"), .init("O", "Simulated")],
      notBefore: unixSeconds - Self.daySeconds, notAfter: unixSeconds + 2 * Self.daySeconds, constraints: .endEntity,
      keyUsage: [.digitalSignature, .nonRepudiation, .keyEncipherment, .dataEncipherment],
      extensions: [.init(oid: "1.2.840.113635.100.8.2", value: [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce.bytes)])
    do throws(CertificateFailure) {
      return [try intermediate.issue(template, toP256: publicKey.span).der, intermediate.certificate.der]
    } catch {
      throw .certificate(error)
    }
  }
}
