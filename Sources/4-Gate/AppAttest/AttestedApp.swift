public import Cryptography

/// An app whose keys may enrol, and what is demanded of their attestations.
public struct AttestedApp: Sendable {
  /// The app.
  public let identity: AppIdentity
  /// Where its keys may be attested.
  public let environments: Set<AttestationEnvironment>
  /// Where a chain may end. Keys under any root but Apple's are `simulated`.
  public let trustRoots: [Certificate]
  /// SHA-256 of the App ID.
  public let rpIDHash: SHA256Digest

  /// An app; unless said otherwise only Apple attests for it, in production.
  public init(
    _ identity: AppIdentity, environments: Set<AttestationEnvironment> = [.production],
    trustRoots: [Certificate] = [AppleRoots.appAttestation]
  ) {
    self.identity = identity
    self.environments = environments
    self.trustRoots = trustRoots
    rpIDHash = identity.rpIDHash
  }
}

extension AppIdentity {
  /// SHA-256 of the App ID. Computed each time: who needs it for every request keeps it.
  public var rpIDHash: SHA256Digest { SHA256.digest(Array(description.utf8).span) }
}
