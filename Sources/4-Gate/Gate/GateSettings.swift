public import AppAttest
public import Cryptography

/// One entry of `apps:` in proxy.yaml, as the gate needs it for every request.
public struct GatedApp: Sendable, Equatable {
  /// App ID prefix and bundle identifier.
  public var identity: AppIdentity
  /// SHA-256 of the DER of every trust anchor that the app accepts now; a key that was enrolled under another is refused.
  public var trustRoots: Set<SHA256Digest>

  /// An app.
  public init(identity: AppIdentity, trustRoots: Set<SHA256Digest>) {
    self.identity = identity
    self.trustRoots = trustRoots
  }
}

/// What every route's gate shares.
public struct GateSettings: Sendable, Equatable {
  /// Every configured app.
  public var apps: [GatedApp]
  /// How long a challenge for an assertion is good (`challenges.assert_ttl`).
  public var assertionChallengeSeconds = 300
  /// How long a challenge for an attestation is good (`challenges.attest_ttl`).
  public var attestationChallengeSeconds = 900
  /// How long a monitored request waits for the store (wire.md, Monitor).
  public var monitorStoreMilliseconds = 100

  /// The defaults of config.md.
  public init(apps: [GatedApp]) { self.apps = apps }
}
