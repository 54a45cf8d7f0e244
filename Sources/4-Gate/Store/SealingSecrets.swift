import Bytes
import Cryptography

/// The shared secrets that challenges are sealed with, and the tag of the store's run (store.md).
public struct SealingSecrets: Sendable, Equatable {
  /// One secret; all open, one seals.
  public struct Secret: Sendable, Equatable {
    /// Names it inside a challenge: taken from its bytes, so that two secrets never share a name by accident of bookkeeping.
    public let identifier: UInt32
    /// 32 random bytes.
    public let bytes: [UInt8]
    /// From this second since 1970 on it seals: every gate has read it before then.
    public let sealsFrom: Int

    /// A secret.
    public init(bytes: [UInt8], sealsFrom: Int) {
      self.bytes = bytes
      self.sealsFrom = sealsFrom
      let digest = HMACSHA256.code(key: bytes.span, message: Array("attestgate secret identifier".utf8).span)
      identifier = (0..<4).reduce(0) { $0 << 8 | UInt32(digest[$1]) }
    }
  }

  /// Size of a secret in bytes.
  public static let secretByteCount = 32

  /// At least one, newest first.
  public var secrets: [Secret]
  /// A tag of the store's run: older challenges die with it.
  public var runTag: UInt32

  /// Secrets and run.
  public init(secrets: [Secret], runTag: UInt32) {
    precondition(!secrets.isEmpty, "challenges cannot be sealed without a secret")
    self.secrets = secrets.sorted { $0.sealsFrom > $1.sealsFrom }
    self.runTag = runTag
  }

  /// The secret that seals at `now`.
  func sealing(at now: Int) -> Secret { secrets.first { $0.sealsFrom <= now } ?? secrets[secrets.count - 1] }

  /// The secret of this name.
  func secret(_ identifier: UInt32) -> Secret? { secrets.first { $0.identifier == identifier } }
}
