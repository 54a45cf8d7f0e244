/// The key of a simulated attestation authority: P-384, as Apple's.
public final class P384PrivateKey {
  let key: ECPrivateKey

  private init(_ key: consuming ECPrivateKey) { self.key = key }

  /// A new key.
  public static func generate() -> P384PrivateKey { P384PrivateKey(ECPrivateKey(generatingOn: .p384)) }

  /// From PEM (PKCS #8 or SEC 1, not encrypted); nil for anything else and for other curves.
  public init?(pem: Span<UInt8>) {
    guard let key = ECPrivateKey(pem: pem, on: .p384) else { return nil }
    self.key = key
  }

  /// PKCS #8 in PEM, not encrypted.
  public var pem: String { key.pem }

  /// The public key's uncompressed point, 97 bytes.
  public var x963: [UInt8] { key.x963 }
}
