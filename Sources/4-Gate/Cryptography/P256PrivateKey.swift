/// A device's key, for the simulated device and for tests; the gate itself has no private key.
public final class P256PrivateKey {
  private let key: ECPrivateKey

  private init(_ key: consuming ECPrivateKey) { self.key = key }

  /// Which of the two equally valid signatures to give: (r, s) or (r, n − s).
  public enum SignatureForm: Sendable {
    /// As it comes: high in half of all cases.
    case any
    /// s at most n / 2.
    case lowS
    /// s above n / 2, as a third of the signatures of real devices has it.
    case highS
  }

  /// A new key.
  public static func generate() -> P256PrivateKey { P256PrivateKey(ECPrivateKey(generatingOn: .p256)) }

  /// From PEM (PKCS #8 or SEC 1, not encrypted); nil for anything else and for other curves.
  public init?(pem: Span<UInt8>) {
    guard let key = ECPrivateKey(pem: pem, on: .p256) else { return nil }
    self.key = key
  }

  /// PKCS #8 in PEM, not encrypted.
  public var pem: String { key.pem }

  /// The public key's uncompressed point, 65 bytes.
  public var x963: [UInt8] { key.x963 }

  /// A signature over `message`, which is hashed here with SHA-256: DER, 8 to 72 bytes.
  public func sign(message: Span<UInt8>, form: SignatureForm = .any) -> [UInt8] {
    let der = key.sign(SHA256.digest(message))
    guard let signature = ECDSASignature(der: der.span) else { fatalError("libcrypto made no DER signature") }
    switch form {
    case .lowS where signature.s.isHigh, .highS where !signature.s.isHigh:
      return ECDSASignature(r: signature.r, s: signature.s.negated).der
    default:
      return der
    }
  }
}
