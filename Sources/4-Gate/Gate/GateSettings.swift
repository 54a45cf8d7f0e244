public import AppAttest

/// What every route's gate shares.
public struct GateSettings: Sendable {
  /// Every configured app (`apps`).
  public var apps: [AttestedApp]
  /// How long a challenge for an assertion is good (`challenges.assert_ttl`).
  public var assertionChallengeSeconds = 300
  /// How long a challenge for an attestation is good (`challenges.attest_ttl`).
  public var attestationChallengeSeconds = 900
  /// How long a monitored request waits for the store (wire.md, Monitor).
  public var monitorStoreMilliseconds = 100

  /// The defaults of config.md.
  public init(apps: [AttestedApp]) { self.apps = apps }
}
