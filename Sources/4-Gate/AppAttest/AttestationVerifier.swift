public import Cryptography

/// Verifies attestations for the configured apps, by Apple's steps in Apple's order ("Validating apps that connect to your server").
public struct AttestationVerifier: Sendable {
  private let apps: [AttestedApp]
  private let trustRoots: [Certificate]

  /// A verifier for these apps, of which no two should be the same.
  public init(apps: [AttestedApp]) {
    self.apps = apps
    var known: Set<Certificate> = []
    trustRoots = apps.flatMap(\.trustRoots).filter { known.insert($0).inserted }
  }

  /// Verifies an attestation object. Takes about 2 ms, most of it two P-384 signatures: not for an event loop.
  ///
  /// `clientDataHash` is what the app passed to `attestKey`: SHA-256 of the challenge, 32 bytes, unless the app did otherwise.
  public func verify(
    object: [UInt8], keyIdentifier: KeyIdentifier, clientDataHash: [UInt8], at unixSeconds: Int
  ) -> AttestationVerdict {
    let judgement = AttestationJudgement(
      apps: apps, trustRoots: trustRoots, environments: [], keyIdentifier: keyIdentifier, clientDataHash: clientDataHash,
      unixSeconds: unixSeconds)
    var steps = StepRecorder<AttestationRefusal>(stopsAtFirstFailure: true)
    if let verified = judgement.judge(object, &steps) { return .verified(verified) }
    guard let failure = steps.failure else { return .refused(.malformed, reason: "a step could not be judged") }
    return .refused(failure.refusal, reason: failure.reason)
  }
}

/// Judges an attestation object step by step, with whatever is known about it, for a person who wants to see which step fails and why.
public struct AttestationInspection: Sendable {
  /// The app that should have made the key.
  public var app: AppIdentity?
  /// The key identifier that the app was given by `generateKey`.
  public var keyIdentifier: KeyIdentifier?
  /// The challenge; its SHA-256 is the client data hash unless ``clientDataHash`` is set.
  public var challenge: [UInt8]?
  /// What the app passed to `attestKey`.
  public var clientDataHash: [UInt8]?
  /// Environments that are admitted.
  public var environments = Set(AttestationEnvironment.allCases)
  /// Where the chain may end.
  public var trustRoots = [AppleRoots.appAttestation]
  /// The clock, in seconds since 1970.
  public var unixSeconds: Int

  /// An inspection at this time that knows nothing else.
  public init(at unixSeconds: Int) { self.unixSeconds = unixSeconds }

  /// Decodes and judges `object`: the steps of ``AttestationVerifier``, and no others.
  public func report(on object: [UInt8]) -> InspectionReport {
    let apps = app.map { [AttestedApp($0, environments: environments, trustRoots: trustRoots)] }
    let judgement = AttestationJudgement(
      apps: apps, trustRoots: trustRoots, environments: environments, keyIdentifier: keyIdentifier,
      clientDataHash: clientDataHash ?? challenge.map { SHA256.digest($0.span).bytes }, challenge: challenge, unixSeconds: unixSeconds)
    var steps = StepRecorder<AttestationRefusal>(stopsAtFirstFailure: false)
    _ = judgement.judge(object, &steps)
    return InspectionReport(fields: ReportField.fields(ofAttestation: object), steps: steps.reports)
  }
}
