public import AppAttest
public import Cryptography
public import Exchange
public import Store
public import Upstream

/// What proxy.yaml means: every default filled in, every name resolved, every file read. Made by ``ConfigurationLoader``.
public struct Configuration: Sendable {
  /// Where the access log goes.
  public enum AccessLog: Sendable, Equatable {
    /// Standard output.
    case standardOutput
    /// Nowhere.
    case off
    /// Appended to the file at this path.
    case file(String)
  }

  /// How much memory the process may take (`memory_limit`).
  public enum MemoryBound: Sendable, Equatable {
    /// What the system allows.
    case automatic
    /// It is not looked at.
    case none
    /// So many bytes.
    case bytes(Int)
  }

  /// Where keys and counters are kept.
  public enum StoreSettings: Sendable, Equatable {
    /// In Redis.
    case redis(RedisSettings)
    /// In this process.
    case memory
  }

  /// One entry of `apps:`.
  public struct App: Sendable, Equatable {
    /// App ID prefix and bundle identifier.
    public var identity: AppIdentity
    /// Where its keys may be attested.
    public var environments: Set<AttestationEnvironment>
    /// Where an attestation's chain may end. Keys under any root but Apple's are `simulated`.
    public var trustRoots: [Certificate]
  }

  /// The file as it was named.
  public var file: String
  /// Event loops, one a core unless said otherwise.
  public var workerCount: Int
  /// At least one.
  public var listeners: [ListenerSettings]
  /// Where health and metrics are served; nil when nowhere.
  public var admin: BindAddress?
  /// Between SIGTERM, when readiness fails, and the closing of the listeners.
  public var drainDelayMilliseconds: Int
  /// For requests in flight after that.
  public var drainTimeoutMilliseconds: Int
  /// How much memory the process may take.
  public var memory: MemoryBound
  /// Where the access log goes.
  public var accessLog: AccessLog
  /// Where keys and counters are kept.
  public var store: StoreSettings
  /// In the order of the file.
  public var apps: [App]
  /// How long a challenge for an assertion is good (`challenges.assert_ttl`).
  public var assertionChallengeSeconds: Int
  /// How long a challenge for an attestation is good (`challenges.attest_ttl`).
  public var attestationChallengeSeconds: Int
  /// What the gate answers itself.
  public var endpoints: EndpointSettings
  /// In the order of the file.
  public var upstreams: [UpstreamSettings]
  /// In the order of the file: the first that matches wins.
  public var routes: [RouteSettings]
  /// What works but may not be meant.
  public var warnings: [ConfigurationProblem]
}
