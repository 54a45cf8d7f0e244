import Bytes
public import Cryptography

/// Apple's key identifier: SHA-256 over the public key's uncompressed point (0x04 ‖ X ‖ Y, 65 bytes). 32 bytes.
public struct KeyIdentifier: Sendable, Hashable {
  /// The 32 bytes.
  public let digest: SHA256Digest

  /// The identifier with these bytes.
  public init(_ digest: SHA256Digest) { self.digest = digest }

  /// From base64 in either alphabet, padded or not; nil unless it is exactly 32 bytes.
  public init?(base64 text: Span<UInt8>) {
    guard let digest = SHA256Digest(base64: text) else { return nil }
    self.digest = digest
  }

  /// Apple's form: standard base64, padded, 44 characters.
  public var base64: String { Base64.encode(digest.span) }
}
