public import AppAttest
import Cryptography
import HTTP
public import Store

/// The order of checks of wire.md, over one worker's store and key cache. Confined to its worker.
///
/// The cheapest check comes first, and nothing is consumed before the last. Verifying is in Gate+Verification.swift, the last step in
/// Admission.swift.
public final class Gate {
  let settings: GateSettings
  let apps: ConfiguredApps
  let store: any Store
  let keys: KeyCache
  let clock: GateClock
  let recovery = PublicKeyRecovery()

  /// A gate over one worker's store and cache.
  public init(settings: GateSettings, store: any Store, keys: KeyCache = KeyCache(), clock: GateClock = .system) {
    self.settings = settings
    apps = ConfiguredApps(settings.apps)
    self.store = store
    self.keys = keys
    self.clock = clock
  }

  /// Step 2: the inputs, and the head as the client data has it. What is too large is refused before anything that costs.
  public func read(_ facts: RequestFacts, policy: SharedPolicy) -> ReadRequest {
    ReadRequest(inputs: inputs(facts, policy), hasNoBody: facts.body.isEmpty, policy: policy)
  }

  private func inputs(_ facts: RequestFacts, _ policy: SharedPolicy) -> Result<RequestInputs, CheckFailure> {
    if case .known(let byteCount) = facts.body, byteCount > policy.bodyBytesMax { return .failure(.bodyTooLarge) }
    do throws(CheckFailure) {
      return .success(try RequestInputs(facts, under: policy))
    } catch {
      return .failure(error)
    }
  }

  /// Steps 3 to 5, and step 7 where no body has to be read. `hint` is the key that the connection's last request was verified with.
  public func examine(_ request: consuming ReadRequest, hint: KeyIdentifier?) async -> Examination {
    let policy = request.policy
    if let admission = Admission.open(under: policy) { return .judged(.admit(admission)) }
    let hasNoBody = request.hasNoBody
    let millisecondsMax = policy.mode == .monitor ? settings.monitorStoreMilliseconds : nil
    var trace = GateTrace(store: StoreAccess(store, clock: clock, millisecondsMax: millisecondsMax))
    do throws(CheckFailure) {
      let ground = try await examineHead(try request.inputs.get(), policy, hint: hint, &trace)
      guard hasNoBody || !ground.needsBody else { return .needsBody(ExaminedRequest(ground, policy: policy, trace: trace)) }
      return .judged(try await finish(ground, body: hasNoBody ? .empty : nil, policy, &trace))
    } catch {
      return .judged(judgement(error, policy, trace))
    }
  }

  /// Step 7, for a request whose body was asked for.
  public func judge(_ request: consuming ExaminedRequest, body: BodyEvidence) async -> Judgement {
    let policy = request.policy
    var trace = request.trace
    do throws(CheckFailure) {
      switch body {
      case .read(let body): return try await finish(request.ground, body: body, policy, &trace)
      case .tooLarge: throw CheckFailure.bodyTooLarge
      case .notStored: throw CheckFailure(.overloaded, "The body cannot be held now.")
      }
    } catch {
      return judgement(error, policy, trace)
    }
  }

  /// Step 8: the store accepts the request, once. Whatever could refuse it for another reason must have been asked before, for what the
  /// store accepted is used up.
  public func admit(_ passed: consuming PassedRequest) async -> Verdict {
    let policy = passed.policy
    var trace = passed.trace
    do throws(CheckFailure) {
      return .admit(try await commit(passed.request, policy, &trace))
    } catch {
      return answer(error, policy, trace)
    }
  }

  /// Everything that needs no body.
  private func examineHead(
    _ inputs: RequestInputs, _ policy: SharedPolicy, hint: KeyIdentifier?, _ trace: inout GateTrace
  ) async throws(CheckFailure) -> ExaminedRequest.Ground {
    trace.key = inputs.key
    guard policy.clientData == .json else {
      // The signature is over the body, so what can be judged without it comes first.
      try checkAppAndCounter(inputs, policy)
      return .unsigned(inputs, hint: hint)
    }

    // Step 3: the challenge; steps 3 to 5: key, app, signature.
    let challenge = try await openChallenge(inputs)
    let clientData = inputs.clientDataBytes
    return try await verify(
      inputs, clientDataHash: SHA256.digest(clientData.span), challenge: challenge, policy, hint: hint, &trace)
  }

  /// Everything from the body on, but for the store's word. `body` is nil where it was not asked for.
  private func finish(
    _ ground: consuming ExaminedRequest.Ground, body: ReadBody?, _ policy: SharedPolicy, _ trace: inout GateTrace
  ) async throws(CheckFailure) -> Judgement {
    switch consume ground {
    case .signed(let request):
      // Step 7: the body is the one that was signed.
      try compare(body, with: request.bodyDigest)
      return .passed(PassedRequest(request, policy: policy, trace: trace))
    case .unsigned(let inputs, let hint):
      guard let body, body.byteCount > 0 else { throw CheckFailure(.assertionMalformed, "An empty body signs nothing.") }
      let verified = try await verify(inputs, clientDataHash: body.digest, challenge: nil, policy, hint: hint, &trace)
      return try await finish(verified, body: body, policy, &trace)
    case .storeAway(let failure, let bodyDigest):
      try compare(body, with: bodyDigest)
      guard let admission = Admission.unjudged(failure, under: policy, trace) else { throw failure }
      return .admit(admission)
    }
  }

  private func compare(_ body: ReadBody?, with digest: SHA256Digest?) throws(CheckFailure) {
    guard digest == nil || body?.digest == digest else {
      throw CheckFailure(.bodyMismatch, "The client data was signed for another body.")
    }
  }

  private func commit(
    _ request: consuming SignedRequest, _ policy: SharedPolicy, _ trace: inout GateTrace
  ) async throws(CheckFailure) -> Admission {
    let key = request.key.key.identifier
    let committed: CommittedRequest
    do throws(StoreFailure) {
      committed = try await Admission.verified(request, under: policy, seenAt: clock.unixSeconds(), &trace)
    } catch {
      let failure = CheckFailure(commit: error)
      guard let admission = Admission.unjudged(failure, under: policy, trace) else { throw failure }
      return admission
    }
    switch consume committed {
    case .accepted(let admission): return admission
    case .refused(let outcome):
      if outcome == .keyUnknown { keys.remove(key) }
      throw CheckFailure(outcome)
    }
  }

  /// What a failed check means on this route: a remark to the upstream where it only monitors, a refusal everywhere else.
  private func answer(_ failure: CheckFailure, _ policy: SharedPolicy, _ trace: GateTrace) -> Verdict {
    if let admission = Admission.monitored(failure, under: policy, trace) { return .admit(admission) }
    var refusal = Refusal(code: failure.code, detail: failure.detail, place: .route)
    refusal.decision = Decision(failure, .refused, policy.mode, trace)
    refusal.knownWaitSeconds = failure.retryAfterSeconds
    if refusal.status == 401 {
      // So that the client can sign again without another round trip.
      refusal.challenge = store.issueChallenge(
        purpose: .assert, boundTo: nil, timeToLive: settings.assertionChallengeSeconds, now: clock.unixSeconds())
    }
    return .refuse(refusal)
  }

  private func judgement(_ failure: CheckFailure, _ policy: SharedPolicy, _ trace: GateTrace) -> Judgement {
    switch answer(failure, policy, trace) {
    case .admit(let admission): return .admit(admission)
    case .refuse(let refusal): return .refuse(refusal)
    }
  }
}
