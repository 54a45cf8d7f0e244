/// Why bytes are not a certificate that can be used here. The side at fault is whoever sent or configured them.
public enum CertificateFailure: Error, Sendable, Equatable {
  /// Longer than ``Certificate/derBytesMax``.
  case tooLarge
  /// Not one X.509 certificate in DER, from the first byte to the last.
  case malformed
  /// Not PEM, or a block that is no certificate.
  case malformedPEM
  /// Two extensions with one OID: RFC 5280 section 4.2 forbids it, and each reader might see the other.
  case repeatedExtension(oid: String)
  /// A time that is none.
  case malformedValidity
  /// A private key that does not belong to its certificate, or a curve that was not expected.
  case wrongKey
  /// libcrypto refused what it was asked to make, such as an OID that is none.
  case notIssuable
}
