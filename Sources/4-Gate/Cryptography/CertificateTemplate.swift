/// What a certificate to be issued says, besides its issuer, its key and its serial number.
public struct CertificateTemplate: Sendable {
  /// One part of a name: an attribute's short name (`CN`, `O`, `OU`, `ST`) and its text.
  public struct NamePart: Sendable {
    /// `CN`, `O`, `OU`, `ST`, or any name libcrypto knows.
    public var attribute: String
    /// The text, UTF-8.
    public var text: String

    /// One part.
    public init(_ attribute: String, _ text: String) {
      self.attribute = attribute
      self.text = text
    }
  }

  /// The critical extension basicConstraints (RFC 5280 section 4.2.1.9).
  public enum Constraints: Sendable, Equatable {
    /// CA false.
    case endEntity
    /// CA true, with at most this many authorities below it; nil for no limit.
    case authority(pathLengthMax: Int?)
  }

  /// A bit of the critical extension keyUsage (RFC 5280 section 4.2.1.3); the raw value is libcrypto's name.
  public enum KeyUsage: String, Sendable {
    /// Signatures over data.
    case digitalSignature
    /// Signatures that shall bind.
    case nonRepudiation
    /// Encryption of keys.
    case keyEncipherment
    /// Encryption of data.
    case dataEncipherment
    /// Signatures over certificates.
    case keyCertSign
    /// Signatures over revocation lists.
    case cRLSign
  }

  /// An extension whose content the caller encodes.
  public struct Extension: Sendable {
    /// Dotted form.
    public var oid: String
    /// Whether a reader that does not know it must refuse the certificate.
    public var isCritical: Bool
    /// The content of the OCTET STRING.
    public var value: [UInt8]

    /// An extension.
    public init(oid: String, isCritical: Bool = false, value: [UInt8]) {
      self.oid = oid
      self.isCritical = isCritical
      self.value = value
    }
  }

  /// The subject, in order.
  public var subject: [NamePart]
  /// Unix seconds.
  public var notBefore: Int
  /// Unix seconds.
  public var notAfter: Int
  /// Whether it may issue certificates.
  public var constraints: Constraints
  /// What its key is for; empty leaves the extension out.
  public var keyUsage: [KeyUsage]
  /// Further extensions, in order.
  public var extensions: [Extension]

  /// A template.
  public init(
    subject: [NamePart], notBefore: Int, notAfter: Int, constraints: Constraints, keyUsage: [KeyUsage], extensions: [Extension] = []
  ) {
    self.subject = subject
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.constraints = constraints
    self.keyUsage = keyUsage
    self.extensions = extensions
  }
}
