/// The shared secrets that challenges are sealed with, and the tag of the store's run (store.md).
public struct SealingSecrets: Sendable {
  /// One secret; the newest seals, all open.
  public struct Secret: Sendable {
    /// Names it inside a challenge.
    public var identifier: UInt8
    /// 32 random bytes.
    public var bytes: [UInt8]

    /// A secret.
    public init(identifier: UInt8, bytes: [UInt8]) {
      self.identifier = identifier
      self.bytes = bytes
    }
  }

  /// Newest first.
  public var secrets: [Secret]
  /// A tag of the store's run: older challenges die with it.
  public var runTag: UInt32

  /// Secrets and run.
  public init(secrets: [Secret], runTag: UInt32) {
    self.secrets = secrets
    self.runTag = runTag
  }
}
