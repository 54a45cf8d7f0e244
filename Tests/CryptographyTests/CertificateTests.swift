import Bytes
import COpenSSL
import Testing

@testable import Cryptography

@Suite struct CertificateTests {
  @Test(arguments: AppleChain.all)
  func appleCertificatesAreRead(chain: AppleChain) throws {
    let leaf = try certificate(der: chain.leaf)
    #expect(leaf.der == chain.leaf)
    #expect(leaf.notBefore < leaf.notAfter)
    let point = try #require(leaf.subjectPublicKeyX963)
    #expect(publicKey(point) != nil)
    // The subject is named after the key: hex of SHA-256 of its point.
    #expect(leaf.subject.contains("CN=" + Hexadecimal.encode(SHA256.digest(point.span).bytes.span)))
    let nonce = try #require(leaf.extensionValue(oid: "1.2.840.113635.100.8.2"))
    #expect(nonce.count == 38)
    #expect(Array(nonce.prefix(6)) == [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20])
    #expect(leaf.extensionValue(oid: "1.2.840.113635.100.8.99") == nil)
    let intermediate = try certificate(der: chain.intermediate)
    // P-384 is no device's curve.
    #expect(intermediate.subjectPublicKeyX963 == nil)
    #expect(intermediate.subject.hasPrefix("ST=California,O=Apple Inc.,CN=Apple App Attestation CA 1"))
    #expect(intermediate.issuer == AppleChain.root.subject)
  }

  /// The figures that Apple publishes.
  @Test func applesRootIsThePublishedOne() {
    let root = AppleChain.root
    #expect(Hexadecimal.encode(root.digest.bytes.span) == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
    // 2020-03-18 18:32:53 to 2045-03-15 00:00:00, UTC.
    #expect(root.notBefore == 1_584_556_373)
    #expect(root.notAfter == 2_373_148_800)
  }

  @Test func whatIsNotExactlyOneCertificateIsRefused() throws {
    let good = AppleChain.all[0].leaf
    let refused: [[UInt8]] = [[], [0x30], [0x30, 0x00], Array("certificate".utf8), good + [0], good + good, Array(good.dropLast())]
    for bytes in refused {
      #expect(throws: CertificateFailure.malformed, "\(bytes.count) bytes") { try certificate(der: bytes) }
    }
    #expect(throws: CertificateFailure.tooLarge) { try certificate(der: good + [UInt8](repeating: 0, count: Certificate.derBytesMax)) }
    #expect(ERR_peek_error() == 0)
  }

  /// A length written longer than need be is BER, not DER: the same certificate under another fingerprint.
  @Test func otherEncodingsOfACertificateAreRefused() {
    let good = AppleChain.all[0].leaf
    let longer = [0x30, 0x83, 0x00] + good[2...]
    let indefinite = [0x30, 0x80] + good[4...] + [0, 0]
    for bytes in [longer, indefinite] {
      #expect(throws: CertificateFailure.malformed) { try certificate(der: bytes) }
    }
  }

  @Test func everyTruncationIsRefused() {
    let good = AppleChain.all[0].leaf
    for count in stride(from: 0, to: good.count, by: 7) {
      #expect(throws: CertificateFailure.malformed) { try certificate(der: Array(good.prefix(count))) }
    }
    #expect(ERR_peek_error() == 0)
  }

  /// No byte of a certificate can make reading it trap, and no error stays behind for a later call.
  @Test func everySpoiledByteIsReadOrRefused() {
    let good = AppleChain.all[0].leaf
    var refused = 0
    for index in good.indices {
      for value in [0x00, 0xFF, good[index] ^ 0x01, good[index] ^ 0x80] {
        var spoiled = good
        spoiled[index] = value
        if (try? certificate(der: spoiled)) == nil { refused += 1 }
      }
    }
    #expect(refused > good.count / 10)
    #expect(ERR_peek_error() == 0)
  }

  @Test func aRepeatedExtensionIsRefused() throws {
    let extra = CertificateTemplate.Extension(oid: "1.2.3.4", value: [0x05, 0x00])
    #expect(throws: CertificateFailure.repeatedExtension(oid: "1.2.3.4")) {
      try SimulatedChain { $0.leaf.extensions += [extra, extra] }
    }
  }

  @Test func certificatesSurviveTheirPEM() throws {
    let root = AppleChain.root
    let leaf = try certificate(der: AppleChain.all[0].leaf)
    #expect(try certificate(pem: root.pem) == root)
    let both = Array(("# a comment\n" + root.pem + "\nbetween\n" + leaf.pem).utf8)
    #expect(try Certificate.all(pem: both.span) == [root, leaf])
    #expect(ERR_peek_error() == 0)
  }

  @Test func malformedPEMIsRefused() {
    let pem = AppleChain.root.pem
    let refused = [
      "", "no block here", pem + pem, String(pem.dropLast(20)), pem.replacing("MII", with: "M!I"), P256PrivateKey.generate().pem,
      pem + P256PrivateKey.generate().pem, pem + "-----BEGIN CERTIFICATE-----\n",
      pem + "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    ]
    for text in refused {
      #expect(throws: CertificateFailure.malformedPEM, "\(text)") { try certificate(pem: text) }
    }
    let trailing = Array(AppleChain.root.der + [0])
    #expect(throws: CertificateFailure.malformed) { try certificate(pem: PEM.text(label: "CERTIFICATE", trailing.span)) }
    #expect(ERR_peek_error() == 0)
  }
}
