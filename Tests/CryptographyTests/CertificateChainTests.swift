import COpenSSL
import Testing

@testable import Cryptography

@Suite struct CertificateChainTests {
  @Test(arguments: AppleChain.all)
  func applesChainsAreTrustedWhileTheyAreValid(chain: AppleChain) throws {
    let leaf = try certificate(der: chain.leaf)
    let given = CertificateChain(leaf: leaf, intermediates: [try certificate(der: chain.intermediate)])
    let root = AppleChain.root
    #expect(given.verify(anchors: [root], at: leaf.notBefore) == .trusted(anchor: root.digest))
    #expect(given.verify(anchors: [root], at: leaf.notAfter - 1) == .trusted(anchor: root.digest))
    #expect(given.verify(anchors: [root], at: leaf.notBefore - 1) == .refused(.notYetValid))
    #expect(given.verify(anchors: [root], at: leaf.notAfter) == .refused(.expired))
    #expect(given.verify(anchors: [], at: leaf.notBefore) == .refused(.issuerUnknown))
    let others = ["apple-root-ca-g3", "negative-apple-webauthn-root-ca"].map(AppleChain.certificate(named:))
    #expect(given.verify(anchors: others, at: leaf.notBefore) == .refused(.issuerUnknown))
    #expect(given.verify(anchors: others + [root], at: leaf.notBefore) == .trusted(anchor: root.digest))
    #expect(ERR_peek_error() == 0)
  }

  @Test func aSimulatedChainIsTrustedByItsRootAlone() throws {
    let chain = try SimulatedChain()
    #expect(chain.verify() == .trusted(anchor: chain.root.certificate.digest))
    let given = CertificateChain(leaf: chain.leaf, intermediates: [chain.intermediate.certificate])
    #expect(given.verify(anchors: [AppleChain.root], at: SimulatedChain.now) == .refused(.issuerUnknown))
    // Another root of the same name, with another key.
    let twin = try SimulatedChain()
    let verdict = given.verify(anchors: [twin.root.certificate], at: SimulatedChain.now)
    #expect([.refused(.issuerUnknown), .refused(.signatureInvalid)].contains(verdict))
    #expect(ERR_peek_error() == 0)
  }

  /// What an attacker sends in the chain is never an anchor, however self-signed it is.
  @Test func aRootInsideTheChainIsNotAnAnchor() throws {
    let chain = try SimulatedChain()
    let certificates = [chain.intermediate.certificate, chain.root.certificate]
    let given = CertificateChain(leaf: chain.leaf, intermediates: certificates)
    #expect(given.verify(anchors: [AppleChain.root], at: SimulatedChain.now) == .refused(.issuerUnknown))
    // Nor may it be there when it is trusted.
    #expect(given.verify(anchors: [chain.root.certificate], at: SimulatedChain.now) == .refused(.notTheGivenChain))
  }

  @Test func theChainIsExactlyTheGivenOne() throws {
    let chain = try SimulatedChain()
    let other = try SimulatedChain()
    let (root, intermediate, leaf) = (chain.root.certificate, chain.intermediate.certificate, chain.leaf)
    func verdict(_ leaf: Certificate, _ intermediates: [Certificate], _ anchors: [Certificate]) -> ChainVerdict {
      CertificateChain(leaf: leaf, intermediates: intermediates).verify(anchors: anchors, at: SimulatedChain.now)
    }
    #expect(verdict(leaf, [], [root]) == .refused(.issuerUnknown))
    #expect(verdict(leaf, [other.intermediate.certificate], [root]) != .trusted(anchor: root.digest))
    #expect(verdict(leaf, [intermediate, other.intermediate.certificate], [root]) == .refused(.notTheGivenChain))
    #expect(verdict(leaf, [intermediate, intermediate], [root]) == .refused(.notTheGivenChain))
    #expect(verdict(intermediate, [leaf], [root]) == .refused(.notTheGivenChain))
    #expect(verdict(root, [], [root]) == .refused(.notTheGivenChain))
    #expect(verdict(leaf, [intermediate], [intermediate]) == .refused(.issuerUnknown))
    #expect(verdict(leaf, [intermediate], [leaf]) == .refused(.issuerUnknown))
    #expect(verdict(leaf, [Certificate](repeating: intermediate, count: 5), [root]) == .refused(.notTheGivenChain))
    #expect(verdict(intermediate, [], [root]) == .trusted(anchor: root.digest))
  }

  /// Each date of the chain counts, the anchor's own too.
  @Test func everyCertificateMustBeValidAtTheTime() throws {
    let (now, day) = (SimulatedChain.now, SimulatedChain.day)
    let expired: [(inout SimulatedChain.Templates) -> Void] = [
      { $0.root.notAfter = now - 1 }, { $0.intermediate.notAfter = now - 1 }, { $0.leaf.notAfter = now - 1 },
    ]
    for change in expired { #expect(try SimulatedChain(change).verify() == .refused(.expired)) }
    let early: [(inout SimulatedChain.Templates) -> Void] = [
      { $0.root.notBefore = now + day }, { $0.intermediate.notBefore = now + day }, { $0.leaf.notBefore = now + day },
    ]
    for change in early { #expect(try SimulatedChain(change).verify() == .refused(.notYetValid)) }
    let chain = try SimulatedChain()
    for time in [Int.min, -1, 0] { #expect(chain.verify(at: time) == .refused(.notYetValid)) }
    for time in [1 << 40, Int.max] { #expect(chain.verify(at: time) == .refused(.expired)) }
  }

  @Test func onlyAnAuthorityIssues() throws {
    #expect(try SimulatedChain { $0.intermediate.constraints = .endEntity }.verify() == .refused(.issuerNotAuthority))
    #expect(try SimulatedChain { $0.intermediate.keyUsage = [.digitalSignature] }.verify() == .refused(.issuerNotAuthority))
    #expect(try SimulatedChain { $0.root.constraints = .endEntity }.verify() == .refused(.issuerNotAuthority))
    // An authority that is to have no authority below it.
    #expect(try SimulatedChain { $0.root.constraints = .authority(pathLengthMax: 0) }.verify() == .refused(.issuerNotAuthority))
    #expect(try SimulatedChain { $0.root.constraints = .authority(pathLengthMax: 1) }.verify() != .refused(.issuerNotAuthority))
  }

  @Test func anUnknownCriticalExtensionIsRefused() throws {
    for isCritical in [false, true] {
      let chain = try SimulatedChain { $0.leaf.extensions.append(.init(oid: "1.2.3.4", isCritical: isCritical, value: [0x05, 0x00])) }
      #expect(chain.verify() == (isCritical ? .refused(.criticalExtensionUnknown) : .trusted(anchor: chain.root.certificate.digest)))
    }
  }

  /// The last bytes of a certificate are its signature.
  @Test func aSpoiledSignatureIsRefused() throws {
    let chain = try SimulatedChain()
    func spoiled(_ good: Certificate) throws -> Certificate {
      var der = good.der
      der[der.count - 1] ^= 1
      return try certificate(der: der)
    }
    let (root, intermediate) = (chain.root.certificate, chain.intermediate.certificate)
    let leafSpoiled = CertificateChain(leaf: try spoiled(chain.leaf), intermediates: [intermediate])
    #expect(leafSpoiled.verify(anchors: [root], at: SimulatedChain.now) == .refused(.signatureInvalid))
    let intermediateSpoiled = CertificateChain(leaf: chain.leaf, intermediates: [try spoiled(intermediate)])
    #expect(intermediateSpoiled.verify(anchors: [root], at: SimulatedChain.now) == .refused(.signatureInvalid))
    #expect(ERR_peek_error() == 0)
  }

  @Test func anIssuerNeedsTheKeyOfItsCertificate() throws {
    let chain = try SimulatedChain()
    #expect(throws: CertificateFailure.wrongKey) { try CertificateIssuer(certificate: chain.root.certificate, key: .generate()) }
    #expect(throws: CertificateFailure.wrongKey) { try CertificateIssuer(certificate: chain.root.certificate, key: chain.intermediate.key) }
    #expect(throws: CertificateFailure.wrongKey) { try CertificateIssuer(certificate: chain.leaf, key: chain.root.key) }
    #expect(try CertificateIssuer(certificate: chain.root.certificate, key: chain.root.key).certificate == chain.root.certificate)
    let extra = CertificateTemplate.Extension(oid: "not an oid", value: [])
    #expect(throws: CertificateFailure.notIssuable) { try SimulatedChain { $0.leaf.extensions.append(extra) } }
    #expect(throws: CertificateFailure.notIssuable) { try SimulatedChain { $0.leaf.subject.append(.init("XYZ", "text")) } }
    #expect(ERR_peek_error() == 0)
  }

  @Test func theLeafHasTheShapeOfApples() throws {
    let chain = try SimulatedChain()
    #expect(chain.leaf.subjectPublicKeyX963 == chain.deviceKey.x963)
    #expect(chain.leaf.extensionValue(oid: "1.2.840.113635.100.8.2")?.count == 38)
    // basicConstraints: an empty sequence is CA false; keyUsage F0 with four unused bits, as Apple's.
    #expect(chain.leaf.extensionValue(oid: "2.5.29.19") == [0x30, 0x00])
    #expect(chain.leaf.extensionValue(oid: "2.5.29.15") == [0x03, 0x02, 0x04, 0xF0])
    #expect(chain.leaf.notBefore == SimulatedChain.now - SimulatedChain.day)
    #expect(chain.leaf.issuer == chain.intermediate.certificate.subject)
  }
}
