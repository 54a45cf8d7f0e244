@testable import Cryptography

/// A chain shaped as Apple's, from keys made for one test; `change` spoils the templates first.
struct SimulatedChain {
  static let now = 1_750_000_000
  static let day = 86_400

  struct Templates {
    var root = CertificateTemplate(
      subject: [.init("CN", "Simulated Root")], notBefore: now - 1000 * day, notAfter: now + 1000 * day,
      constraints: .authority(pathLengthMax: nil), keyUsage: [.keyCertSign, .cRLSign])
    var intermediate = CertificateTemplate(
      subject: [.init("CN", "Simulated CA 1"), .init("O", "Simulated")], notBefore: now - 500 * day, notAfter: now + 500 * day,
      constraints: .authority(pathLengthMax: 0), keyUsage: [.keyCertSign, .cRLSign])
    var leaf = CertificateTemplate(
      subject: [.init("CN", "leaf"), .init("OU", "AAA Certification")], notBefore: now - day, notAfter: now + 2 * day,
      constraints: .endEntity, keyUsage: [.digitalSignature, .nonRepudiation, .keyEncipherment, .dataEncipherment],
      extensions: [.init(oid: "1.2.840.113635.100.8.2", value: [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + [UInt8](repeating: 7, count: 32))])
  }

  var root: CertificateIssuer
  var intermediate: CertificateIssuer
  var deviceKey: P256PrivateKey
  var leaf: Certificate

  init(_ change: (inout Templates) -> Void = { _ in }) throws(CertificateFailure) {
    var templates = Templates()
    change(&templates)
    deviceKey = .generate()
    root = try .selfSigned(templates.root, key: .generate())
    intermediate = try root.issue(templates.intermediate, to: .generate())
    let point = deviceKey.x963
    leaf = try intermediate.issue(templates.leaf, toP256: point.span)
  }

  func verify(at time: Int = now) -> ChainVerdict {
    CertificateChain(leaf: leaf, intermediates: [intermediate.certificate]).verify(anchors: [root.certificate], at: time)
  }
}
