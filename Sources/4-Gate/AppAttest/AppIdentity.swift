/// Which of Apple's environments attested a key, or `simulated` for a private authority (wire.md, Enrolment 4).
public enum AttestationEnvironment: String, Sendable, CaseIterable {
  /// aaguid `appattest` and seven zero bytes.
  case production
  /// aaguid `appattestdevelop`.
  case development
  /// A chain that ends at a configured private root, whatever its aaguid.
  case simulated
}

/// An app as Apple names it: App ID prefix and bundle identifier, for example `ABCDE12345.com.example.shop`.
public struct AppIdentity: Sendable, Hashable, CustomStringConvertible {
  /// The App ID prefix, usually the team identifier.
  public let prefix: String
  /// CFBundleIdentifier.
  public let bundleIdentifier: String

  /// An app with this prefix and bundle identifier.
  public init(prefix: String, bundleIdentifier: String) {
    self.prefix = prefix
    self.bundleIdentifier = bundleIdentifier
  }

  /// The App ID: `prefix.bundle`. Its SHA-256 is the RP ID hash.
  public var description: String { "\(prefix).\(bundleIdentifier)" }
}
