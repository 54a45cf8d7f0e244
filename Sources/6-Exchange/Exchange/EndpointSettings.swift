/// `endpoints:` of proxy.yaml, with every default filled in: what the gate answers itself, before any route.
public struct EndpointSettings: Sendable, Equatable {
  /// A path in normal form, without a final slash.
  public var attestChallenge = "/attest/challenge"
  /// A path in normal form, without a final slash.
  public var attestVerify = "/attest/verify"
  /// A path in normal form, without a final slash.
  public var assertChallenge = "/assert/challenge"
  /// Whether keys may be enrolled here (`enrol`); without it the two paths of enrolment are ordinary ones.
  public var enrols = true

  /// The defaults of config.md.
  public init() {}
}
