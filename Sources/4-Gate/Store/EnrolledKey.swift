public import AppAttest
public import Cryptography

/// What never changes about an enrolled key, and so may be cached by a worker (store.md).
public struct EnrolledKey: Sendable, Equatable {
  /// SHA-256 of the public key.
  public let identifier: KeyIdentifier
  /// The uncompressed point 0x04 ‖ X ‖ Y, 65 bytes.
  public let publicKey: [UInt8]
  /// The app's App ID, `PREFIX.bundle`.
  public let app: String
  /// The environment that attested it.
  public let environment: AttestationEnvironment
  /// SHA-256 of the trust anchor's DER.
  public let trustRoot: SHA256Digest

  /// A key as it was enrolled.
  public init(
    identifier: KeyIdentifier, publicKey: [UInt8], app: String, environment: AttestationEnvironment, trustRoot: SHA256Digest
  ) {
    self.identifier = identifier
    self.publicKey = publicKey
    self.app = app
    self.environment = environment
    self.trustRoot = trustRoot
  }
}
