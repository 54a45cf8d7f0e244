import AppAttest
import Bytes
import Cryptography

/// An attestation authority of the tests' own, shaped as Apple's, and one attestation by it: good in every respect until something is changed.
struct TestAuthority {
  static let now = 1_790_000_000
  static let app = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")

  let root: CertificateIssuer
  let intermediate: CertificateIssuer

  init() {
    do {
      root = try .selfSigned(Self.template("Test Root", pathLength: nil), key: .generate())
      intermediate = try root.issue(Self.template("Test CA 1", pathLength: 0), to: .generate())
    } catch {
      fatalError("no test authority: \(error)")
    }
  }

  private static func template(_ name: String, pathLength: Int?) -> CertificateTemplate {
    CertificateTemplate(
      subject: [.init("CN", name), .init("O", "Tests")], notBefore: now - 86_400, notAfter: now + 86_400,
      constraints: .authority(pathLengthMax: pathLength), keyUsage: [.keyCertSign, .cRLSign])
  }

  func draft() -> AttestationDraft { AttestationDraft(authority: self) }
}

struct AttestationDraft {
  var authority: TestAuthority
  var key = P256PrivateKey.generate()
  var challenge = Array("a challenge".utf8)
  var data: AuthenticatorDataDraft
  var receipt = Array("receipt".utf8)
  var notBefore = TestAuthority.now - 3600
  var notAfter = TestAuthority.now + 3600
  /// What the leaf says, given the right nonce.
  var nonceExtension: ([UInt8]) -> [UInt8]? = { [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + $0 }
  var platform: String?
  var accessControl: String?
  var certificates: ([[UInt8]]) -> [[UInt8]] = { $0 }

  init(authority: TestAuthority) {
    self.authority = authority
    data = AuthenticatorDataDraft(rpIDHash: TestAuthority.app.rpIDHash.bytes)
    data.credentialIdentifier = keyIdentifier.digest.bytes
    data.coseKey = AuthenticatorDataDraft.coseKey(key.x963)
  }

  var keyIdentifier: KeyIdentifier {
    let point = key.x963
    return KeyIdentifier(SHA256.digest(point.span))
  }
  var clientDataHash: [UInt8] { SHA256.digest(challenge.span).bytes }

  private var extensions: [CertificateTemplate.Extension] {
    var extensions: [CertificateTemplate.Extension] = []
    let nonce = SHA256.digest(data.attestation.span, clientDataHash.span).bytes
    if let value = nonceExtension(nonce) { extensions.append(.init(oid: "1.2.840.113635.100.8.2", value: value)) }
    if let platform {
      let text = [0x04, UInt8(platform.utf8.count)] + Array(platform.utf8)
      let tagged = [0xBF, 0x88, 0x02, UInt8(text.count)] + text
      extensions.append(.init(oid: "1.2.840.113635.100.8.7", value: [0x30, UInt8(tagged.count)] + tagged))
    }
    if let accessControl, let list = Base64.decode(accessControl, maximum: 100) {
      let string = [0x04, UInt8(list.count)] + list
      let tagged = [0xA3, UInt8(string.count)] + string
      extensions.append(.init(oid: "1.2.840.113635.100.8.6", value: [0x30, UInt8(tagged.count)] + tagged))
    }
    return extensions
  }

  var object: [UInt8] {
    let template = CertificateTemplate(
      subject: [.init("CN", "device")], notBefore: notBefore, notAfter: notAfter, constraints: .endEntity,
      keyUsage: [.digitalSignature], extensions: extensions)
    let point = key.x963
    guard let leaf = try? authority.intermediate.issue(template, toP256: point.span) else { fatalError("no leaf") }
    let chain = certificates([leaf.der, authority.intermediate.certificate.der])
    return AttestationParts(certificates: chain, receipt: receipt, authenticatorData: data.attestation).encoded
  }

  /// The verdict of a gate that has this one app and trusts this one authority.
  func verdict(
    environments: Set<AttestationEnvironment> = [.simulated], roots: [Certificate]? = nil, app: AppIdentity = TestAuthority.app
  ) -> AttestationVerdict {
    let app = AttestedApp(app, environments: environments, trustRoots: roots ?? [authority.root.certificate])
    return verdict(apps: [app])
  }

  func verdict(apps: [AttestedApp]) -> AttestationVerdict {
    AttestationVerifier(apps: apps).verify(
      object: object, keyIdentifier: keyIdentifier, clientDataHash: clientDataHash, at: TestAuthority.now)
  }
}
