import AppAttest
import Cryptography
public import EventLoop
import HTTP
public import Store

/// `POST /attest/verify`, in the order of wire.md, "Enrolment, in this order". Confined to its worker.
///
/// A failed verification burns nothing, and a resend of the same attestation is answered as the first time.
public final class EnrolmentEndpoint {
  /// A longer body is `body_too_large`.
  public static let bodyBytesMax = 64 << 10

  private let store: any Store
  private let verifier: AttestationVerifier
  private let background: BackgroundThread
  private let clock: GateClock

  /// The enrolment endpoint over one worker's store. `background` is where attestations are verified, 2 ms each.
  public init(settings: GateSettings, store: any Store, background: BackgroundThread, clock: GateClock = .system) {
    self.store = store
    verifier = AttestationVerifier(apps: settings.apps)
    self.background = background
    self.clock = clock
  }

  /// Answers one request, whose body was read whole.
  ///
  /// `wait` is asked once all that is cheap was checked, before the attestation is verified: how many nanoseconds the client must wait
  /// before the gate verifies another one; nil when it may now.
  public func enroll(body: [UInt8], wait: () -> UInt64? = { nil }) async -> EndpointAnswer {
    do throws(CheckFailure) {
      // Step 1: what was sent.
      let request = try EnrolmentRequest(body)
      let attestation = SHA256.digest(request.attestation.span)
      // Step 2: the answer to an earlier copy may have been lost.
      if let answer = try await knownKey(request.key, attestation: attestation) { return answer }
      // Step 3: the challenge.
      let (challenge, isUsed) = try await openChallenge(request)
      if isUsed {
        // A copy of this request may have enrolled the key since step 2: then this is a resend like any other.
        if let answer = try await knownKey(request.key, attestation: attestation) { return answer }
        throw CheckFailure.challengeUsed
      }
      // Step 4: Apple's steps.
      if let nanoseconds = wait() { throw CheckFailure(enrolmentAfter: nanoseconds) }
      let verified = try await verify(request)
      // Step 5: written, unless 2 or 3 changed meanwhile.
      let fingerprint = SHA256.digest(request.attestation.span, request.challenge.span)
      guard let mark = challenge.mark(for: request.key, fingerprint: fingerprint) else { throw CheckFailure(ChallengeRefusal.wrongKey) }
      return try await write(verified, attestation: attestation, mark)
    } catch {
      var refusal = Refusal(code: error.code, detail: error.detail, place: .endpoint)
      refusal.reason = error.storeFailure ?? error.reason
      refusal.knownWaitSeconds = error.retryAfterSeconds
      return .refused(refusal)
    }
  }

  private func knownKey(_ key: KeyIdentifier, attestation: SHA256Digest) async throws(CheckFailure) -> EndpointAnswer? {
    let state: EnrolmentState
    do throws(StoreFailure) { state = try await store.enrolmentState(of: key) } catch { throw CheckFailure(enrolment: error) }
    switch state {
    case .absent: return nil
    case .present(attestation, active: true, let key):
      return .enrolled(key.identifier, environment: key.environment, app: key.app)
    case .present(attestation, active: false, _): throw CheckFailure.keyRevoked
    case .present: throw CheckFailure.keyAlreadyEnrolled
    }
  }

  private func openChallenge(_ request: EnrolmentRequest) async throws(CheckFailure) -> (OpenedChallenge, isUsed: Bool) {
    let result: Result<OpenedChallenge, ChallengeRefusal>
    var isUsed = false
    do throws(StoreFailure) {
      result = try await store.openChallenge(request.challenge, purpose: .attest, key: request.key, now: clock.unixSeconds())
      if case .success(let challenge) = result { isUsed = try await store.isUsed(challenge.digest) }
    } catch {
      throw CheckFailure(enrolment: error)
    }
    switch result {
    case .failure(let refusal): throw CheckFailure(refusal)
    case .success(let challenge): return (challenge, isUsed)
    }
  }

  private func verify(_ request: EnrolmentRequest) async throws(CheckFailure) -> VerifiedAttestation {
    let verifier = self.verifier
    let now = clock.unixSeconds()
    let verdict = await background.run {
      verifier.verify(
        object: request.attestation, keyIdentifier: request.key, clientDataHash: SHA256.digest(request.challenge.span).bytes, at: now)
    }
    switch verdict {
    case nil: throw CheckFailure(.overloaded, "Too many attestations are waiting to be verified.")
    case .refused(let refusal, let reason): throw CheckFailure(refusal, reason: reason)
    case .verified(let verified): return verified
    }
  }

  private func write(
    _ verified: VerifiedAttestation, attestation: SHA256Digest, _ mark: ChallengeMark
  ) async throws(CheckFailure) -> EndpointAnswer {
    let key = EnrolledKey(
      identifier: verified.keyIdentifier, publicKey: verified.publicKey, app: verified.app.description, environment: verified.environment,
      trustRoot: verified.trustRoot)
    let enrolment = Enrolment(
      key: key, attestation: attestation, receipt: verified.receipt, category: verified.category, bundleVersion: verified.bundleVersion,
      challenge: mark, enrolledAt: clock.unixSeconds())
    let outcome: EnrolmentOutcome
    do throws(StoreFailure) { outcome = try await store.enroll(enrolment) } catch { throw CheckFailure(enrolment: error) }
    switch outcome {
    case .enrolled, .enrolledBefore: return .enrolled(key.identifier, environment: key.environment, app: key.app)
    case .revoked: throw CheckFailure.keyRevoked
    case .otherAttestation: throw CheckFailure.keyAlreadyEnrolled
    case .challengeUsed: throw CheckFailure.challengeUsed
    }
  }
}
