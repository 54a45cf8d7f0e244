public import EventLoop

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
  /// How often one address (IPv6: one /64) may ask (`rate.address`); nil for as often as it likes.
  public var addressRate: Rate? = Rate(50, per: .second, burst: 200)
  /// How many enrolments the gate verifies, whoever asks (`rate.enrolment`): Apple asks to bring apps in gradually.
  public var enrolmentRate: Rate? = Rate(50, per: .second)

  /// The defaults of config.md.
  public init() {}
}
