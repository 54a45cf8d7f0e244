import Bytes
import COpenSSL

/// An X.509 certificate (RFC 5280) as read once: plain values, no pointers, so that it may be shared by threads.
///
/// Reading says nothing about trust; that is ``CertificateChain``.
public struct Certificate: Sendable, Hashable {
  /// The certificate's bytes.
  public let der: [UInt8]
  /// SHA-256 of the bytes: its fingerprint.
  public let digest: SHA256Digest
  /// Unix seconds; valid from this second on.
  public let notBefore: Int
  /// Unix seconds; a chain is refused as expired from this second on.
  public let notAfter: Int
  /// The subject's uncompressed point, 65 bytes, when its key is on P-256 and written so; nil for every other key.
  public let subjectPublicKeyX963: [UInt8]?
  /// The subject in RFC 2253 form, such as `CN=Apple App Attestation CA 1,O=Apple Inc.,ST=California`; for people, not for decisions.
  public let subject: String
  /// The issuer, as `subject`.
  public let issuer: String
  private let extensions: [String: [UInt8]]

  /// The largest certificate that is read, in bytes. Apple's are below 2 KiB.
  public static let derBytesMax = 16 * 1024

  /// Reads a certificate, which must fill `der` to the last byte.
  public init(der: Span<UInt8>) throws(CertificateFailure) {
    guard der.count <= Self.derBytesMax else { throw .tooLarge }
    defer { ErrorQueue.clear() }
    let parsed = try ParsedCertificate(der: der)
    self.der = [UInt8](copying: der)
    digest = SHA256.digest(der)
    notBefore = try parsed.notBefore
    notAfter = try parsed.notAfter
    subjectPublicKeyX963 = parsed.subjectPublicKeyX963
    subject = parsed.subject
    issuer = parsed.issuer
    extensions = try parsed.extensions
  }

  /// Reads PEM text that holds exactly one certificate.
  public init(pem: Span<UInt8>) throws(CertificateFailure) {
    let all = try Self.all(pem: pem)
    guard all.count == 1 else { throw .malformedPEM }
    self = all[0]
  }

  /// Reads PEM text of one certificate or more, in order; text between the blocks is a comment, a block of another kind a failure.
  public static func all(pem: Span<UInt8>) throws(CertificateFailure) -> [Certificate] {
    var certificates = [Certificate]()
    for block in try PEM.blocks(in: pem) {
      guard block.label == "CERTIFICATE" else { throw .malformedPEM }
      certificates.append(try Certificate(der: block.bytes.span))
    }
    guard !certificates.isEmpty else { throw .malformedPEM }
    return certificates
  }

  /// The raw content of the extension's OCTET STRING, in whatever encoding its definition says; nil when there is none.
  /// `oid` in dotted form, such as `1.2.840.113635.100.8.2`.
  public func extensionValue(oid: String) -> [UInt8]? { extensions[oid] }

  /// The OIDs of the extensions, sorted as text.
  public var extensionOIDs: [String] { extensions.keys.sorted() }

  /// The certificate as a PEM block.
  public var pem: String { PEM.text(label: "CERTIFICATE", der.span) }

  /// Two certificates are one when their bytes are.
  public static func == (left: Certificate, right: Certificate) -> Bool { left.digest == right.digest }

  /// Hashes the fingerprint.
  public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
