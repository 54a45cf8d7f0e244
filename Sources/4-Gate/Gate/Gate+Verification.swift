import AppAttest
import Bytes
import Cryptography
import HTTP
import Store

/// The key that signed, and the proof of it where finding the key was the verification.
private struct Signer: ~Copyable {
  let cached: CachedKey
  let rpIDHash: SHA256Digest
  let proof: SignatureValid
}

extension Gate {
  /// The first half of step 3: the challenge is ours, unexpired, for an assertion, and for this key where it is bound to one. When the
  /// request names none, a bound challenge is compared with the key that is found.
  func openChallenge(_ inputs: RequestInputs) async throws(CheckFailure) -> OpenedChallenge {
    let now = clock.unixSeconds()
    let json = inputs.clientDataBytes
    if let text = inputs.clientData.challenge, !text.hasEscapes,
      let challenge = store.openGoodChallenge(json.span.bytes(at: text.range), purpose: .assert, key: inputs.key, now: now)
    {
      return challenge
    }
    let result: Result<OpenedChallenge, ChallengeRefusal>
    do throws(StoreFailure) {
      let text = inputs.clientData.challenge?.decoded(in: json.span) ?? []
      result = try await store.openChallenge(text, purpose: .assert, key: inputs.key, now: now)
    } catch {
      throw CheckFailure(lookUp: error)
    }
    switch result {
    case .success(let challenge): return challenge
    case .failure(let refusal): throw CheckFailure(refusal)
    }
  }

  /// What of step 4 can be judged before the key is known: no enrolled key could pass otherwise.
  func checkAppAndCounter(_ inputs: RequestInputs, _ policy: SharedPolicy) throws(CheckFailure) {
    try apps.check(rpIDHash: inputs.assertion.decoded.rpIDHash, under: policy)
    guard inputs.assertion.decoded.counter > 0 else { throw CheckFailure(.outOfOrder) }
  }

  /// The second half of step 3 to step 5: the key is found, allowed on this route now, the assertion made for its app, and signed by it.
  func verify(
    _ inputs: RequestInputs, clientDataHash: SHA256Digest, challenge: OpenedChallenge?, _ policy: SharedPolicy, hint: KeyIdentifier?,
    _ trace: inout GateTrace
  ) async throws(CheckFailure) -> ExaminedRequest.Ground {
    let nonce = inputs.assertion.nonce(clientDataHash: clientDataHash)
    let signer: Signer
    do throws(CheckFailure) {
      signer =
        if let key = inputs.key {
          try await namedSigner(key, inputs, nonce: nonce, policy, &trace)
        } else {
          try await recoveredSigner(inputs, nonce: nonce, policy, hint: hint, &trace)
        }
    } catch {
      guard error.code == .storeUnavailable, policy.admitsOnStoreFailure else { throw error }
      try checkAppAndCounter(inputs, policy)
      return .storeAway(error, bodyDigest: inputs.clientData.bodyDigest)
    }
    let key = signer.cached
    let identifier = key.key.identifier
    trace.key = identifier
    let mark = try mark(challenge, for: identifier, inputs)
    let rpIDHash = signer.rpIDHash
    switch inputs.assertion.verdict(signature: signer.proof, clientDataHash: clientDataHash, rpIDHash: rpIDHash) {
    case .refused(let refusal): throw CheckFailure(refusal)
    case .verified(let assertion):
      return .signed(SignedRequest(assertion: assertion, key: key, challenge: mark, bodyDigest: inputs.clientData.bodyDigest))
    }
  }

  /// The named key, once its signature is verified.
  private func namedSigner(
    _ identifier: KeyIdentifier, _ inputs: RequestInputs, nonce: SHA256Digest, _ policy: SharedPolicy, _ trace: inout GateTrace
  ) async throws(CheckFailure) -> Signer {
    let cached: CachedKey
    if let found = keys.find(identifier) {
      cached = found
    } else if let found = try await enrolledKey(among: [identifier], &trace) {
      cached = found
    } else {
      throw CheckFailure(.keyUnknown, "No key with this identifier is enrolled here.")
    }
    let rpIDHash = try apps.check(cached.key, under: policy)
    if let refusal = inputs.assertion.refusal(rpIDHash: rpIDHash) { throw CheckFailure(refusal) }
    let assertion = inputs.assertion
    guard let proof = cached.publicKey.verify(signature: assertion.signature, message: nonce.span) else {
      throw CheckFailure(AssertionRefusal.signatureInvalid)
    }
    return Signer(cached: cached, rpIDHash: rpIDHash, proof: proof)
  }

  /// The key that the signature itself determines (wire.md, Key recovery): the connection's last one if it verifies, else the one among
  /// the recovered candidates that is enrolled.
  private func recoveredSigner(
    _ inputs: RequestInputs, nonce: SHA256Digest, _ policy: SharedPolicy, hint: KeyIdentifier?, _ trace: inout GateTrace
  ) async throws(CheckFailure) -> Signer {
    try checkAppAndCounter(inputs, policy)
    let assertion = inputs.assertion
    if let hint, let cached = keys.find(hint), let proof = cached.publicKey.verify(signature: assertion.signature, message: nonce.span) {
      return Signer(cached: cached, rpIDHash: try apps.check(cached.key, under: policy), proof: proof)
    }
    let candidates = recovery.candidates(signature: assertion.signature, message: nonce.span)
    let cached = try await enrolledKey(among: candidates.map { KeyIdentifier($0.digest) }, &trace)
    guard let cached, let candidate = candidates.first(where: { $0.digest == cached.key.identifier.digest }) else {
      throw CheckFailure(
        .assertionUnrecognised,
        "No enrolled key made this signature: the key is not enrolled, or other bytes were signed. Naming the key tells which.")
    }
    return Signer(cached: cached, rpIDHash: try apps.check(cached.key, under: policy), proof: candidate.proof())
  }

  /// The enrolled one among these keys: from the cache, else from the store.
  private func enrolledKey(among candidates: [KeyIdentifier], _ trace: inout GateTrace) async throws(CheckFailure) -> CachedKey? {
    for candidate in candidates {
      if let cached = keys.find(candidate) { return cached }
    }
    guard !candidates.isEmpty else { return nil }
    let enrolled: EnrolledKey?
    do throws(StoreFailure) {
      enrolled = try await trace.store.enrolledKey(among: candidates)
    } catch {
      throw CheckFailure(lookUp: error)
    }
    guard let enrolled else { return nil }
    guard let cached = CachedKey(enrolled) else {
      throw CheckFailure(lookUp: StoreFailure(outcomeUnknown: false, reason: "a record does not hold its own key"))
    }
    keys.insert(cached)
    return cached
  }

  /// The mark that uses the challenge up by exactly these bytes.
  private func mark(
    _ challenge: OpenedChallenge?, for key: KeyIdentifier, _ inputs: RequestInputs
  ) throws(CheckFailure) -> ChallengeMark? {
    guard let challenge else { return nil }
    let (assertion, clientData) = (inputs.assertion.bytes, inputs.clientDataBytes)
    let fingerprint = SHA256.digest(assertion.span, clientData.span)
    guard let mark = challenge.mark(for: key, fingerprint: fingerprint) else { throw CheckFailure(ChallengeRefusal.wrongKey) }
    return mark
  }
}
