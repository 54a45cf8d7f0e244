import Bytes
public import Cryptography

/// Judges an assertion step by step, with whatever is known about it, for a person who wants to see which step fails and why.
public struct AssertionInspection: Sendable {
  /// The app that should have made it.
  public var app: AppIdentity?
  /// The key that should have made it. It suffices without ``publicKey``: the signature tells the key.
  public var keyIdentifier: KeyIdentifier?
  /// The key that should have made it, as an uncompressed point of 65 bytes.
  public var publicKey: [UInt8]?
  /// What the app hashed and had signed.
  public var clientData: [UInt8]?
  /// Its SHA-256, where the data is not at hand.
  public var clientDataHash: SHA256Digest?
  /// The challenge that the client data should hold.
  public var challenge: [UInt8]?
  /// The highest counter so far.
  public var previousCounter: UInt32?

  /// An inspection that knows nothing yet.
  public init() {}

  /// A refusal of the gate's: an assertion's own, or that of its client data.
  private enum Finding: String {
    case malformed = "assertion_malformed"
    case rpIDMismatch = "rp_id_mismatch"
    case counterReplayed = "counter_replayed"
    case signatureInvalid = "signature_invalid"
    case keyIDMismatch = "key_id_mismatch"
    case challengeMissing = "challenge_missing"
  }

  private typealias Steps = StepRecorder<Finding>
  private typealias Outcome = Steps.Outcome

  /// Decodes and judges `bytes`, by Apple's steps in Apple's order.
  public func report(on bytes: [UInt8]) -> InspectionReport {
    var steps = Steps(stopsAtFirstFailure: false)
    let fields = judge(bytes, &steps)
    return InspectionReport(fields: fields, steps: steps.reports)
  }

  private func judge(_ bytes: [UInt8], _ steps: inout Steps) -> [ReportField] {
    // Before Apple's steps: the assertion is what a device makes, within its bounds.
    guard let assertion = steps.step("assertion", { decode(bytes) }) else { return [] }

    // Step 1: the client data hash is SHA-256 of the client data.
    let clientDataHash = steps.step(1, "client data hash") { hashClientData() }

    // Step 2: the nonce is SHA-256 over the authenticator data followed by the client data hash.
    let nonce = steps.step(2, "nonce") { makeNonce(assertion, clientDataHash) }

    // Step 3: the signature over the nonce is the enrolled key's.
    let candidates = nonce.map { recovered(assertion, $0) } ?? []
    steps.step(3, "signature") { judgeSignature(assertion, nonce, candidates) }

    // Step 4: the RP ID hash is SHA-256 of the App ID.
    steps.step(4, "RP ID hash") { judgeApp(assertion) }

    // Step 5: the counter is above the previous one, or above 0 for the first assertion.
    steps.step(5, "counter") { judgeCounter(assertion) }

    // Step 6: the client data holds the challenge that was issued.
    steps.step(6, "challenge") { findChallenge() }

    // Steps 7 and 8: launch category and bundle version, which policy judges.
    steps.step(7, "validation category") { AuthenticatorExtensions.judge(assertion.decoded.extensions.category) }
    steps.step(8, "bundle version") { AuthenticatorExtensions.judge(assertion.decoded.extensions.bundleVersion) }

    let keys = ReportField(name: "possible_key_ids", value: candidates.map(\.base64).joined(separator: " "))
    return ReportField.fields(of: assertion) + (candidates.isEmpty ? [] : [keys])
  }

  private func decode(_ bytes: [UInt8]) -> Outcome<Assertion> {
    do throws(Malformed) {
      return .pass(try Assertion(bytes), "\(bytes.count) bytes")
    } catch {
      return .fail(.malformed, "\(error)")
    }
  }

  private func hashClientData() -> Outcome<SHA256Digest> {
    guard let hash = clientDataHash ?? clientData.map({ SHA256.digest($0.span) }) else {
      return .skipped("no --client-data or --client-data-hash")
    }
    return .pass(hash, Base64.encode(hash.bytes.span))
  }

  private func makeNonce(_ assertion: Assertion, _ clientDataHash: SHA256Digest?) -> Outcome<SHA256Digest> {
    guard let clientDataHash else { return .skipped("no client data hash") }
    let nonce = assertion.nonce(clientDataHash: clientDataHash)
    return .pass(nonce, Base64.encode(nonce.bytes.span))
  }

  /// The keys that the signature can be of, if it is one over this nonce.
  private func recovered(_ assertion: Assertion, _ nonce: SHA256Digest) -> [KeyIdentifier] {
    PublicKeyRecovery().candidates(signature: assertion.signature, message: nonce.bytes.span).map { KeyIdentifier($0.digest) }
  }

  private func judgeSignature(_ assertion: Assertion, _ nonce: SHA256Digest?, _ candidates: [KeyIdentifier]) -> Outcome<Void> {
    if let publicKey, let keyIdentifier, SHA256.digest(publicKey.span) != keyIdentifier.digest {
      return .fail(.keyIDMismatch, "the public key is not the key identifier's")
    }
    guard let nonce else { return .skipped("no nonce") }
    if let publicKey {
      guard let key = P256PublicKey(x963: publicKey.span) else { return .fail(.keyIDMismatch, "the public key is not a point on P-256") }
      let isValid = key.verify(signature: assertion.signature, message: nonce.bytes.span) != nil
      return isValid
        ? .pass((), "the public key's, over the nonce") : .fail(.signatureInvalid, whyOther(KeyIdentifier(key.keyDigest), assertion))
    }
    if let keyIdentifier {
      if candidates.contains(keyIdentifier) { return .pass((), "the key identifier's, over the nonce") }
      return .fail(.signatureInvalid, whyOther(keyIdentifier, assertion))
    }
    return .skipped("no --public-key or --key-id")
  }

  /// Mistakes that apps make in earnest: the bytes that the named key did sign, if they are near the ones given.
  private func whyOther(_ key: KeyIdentifier, _ assertion: Assertion) -> String {
    func signed(_ hash: SHA256Digest) -> Bool { recovered(assertion, assertion.nonce(clientDataHash: hash)).contains(key) }
    if let clientData {
      let trimmed = clientData.last == 0x0A ? Array(clientData.dropLast()) : clientData + [0x0A]
      if signed(SHA256.digest(trimmed.span)) { return "it is over the client data with one line feed more or less at the end" }
      if let raw = SHA256Digest(clientData.span), signed(raw) { return "the app signed the client data as the hash, without hashing it" }
    }
    if let hash = clientDataHash ?? clientData.map({ SHA256.digest($0.span) }), signed(SHA256.digest(hash.bytes.span)) {
      return "the app hashed the client data hash once more"
    }
    return "another key's, or over other client data or changed authenticator data"
  }

  private func judgeApp(_ assertion: Assertion) -> Outcome<Void> {
    guard let app else { return .skipped("no --app") }
    guard assertion.decoded.rpIDHash == app.rpIDHash else { return .fail(.rpIDMismatch, "made for another app than \(app)") }
    return .pass((), app.description)
  }

  private func judgeCounter(_ assertion: Assertion) -> Outcome<Void> {
    let counter = assertion.decoded.counter
    guard assertion.hasCounted else { return .fail(.counterReplayed, "0, which no assertion has") }
    guard let previousCounter else { return .pass((), "\(counter), above 0; no --previous-counter") }
    guard counter > previousCounter else { return .fail(.counterReplayed, "\(counter), not above \(previousCounter)") }
    return .pass((), "\(counter), above \(previousCounter)")
  }

  /// Client data has the app's own form, so the challenge is looked for wherever it may stand, with `/` escaped or not.
  private func findChallenge() -> Outcome<Void> {
    guard let challenge else { return .skipped("no --challenge") }
    guard let clientData else { return .skipped("no --client-data") }
    guard !challenge.isEmpty else { return .fail(.challengeMissing, "the challenge is empty") }
    let escaped = challenge.flatMap { $0 == UInt8(ascii: "/") ? Array("\\/".utf8) : [$0] }
    for form in [challenge, escaped] where clientData.indices.contains(where: { clientData[$0...].starts(with: form) }) {
      return .pass((), "in the client data")
    }
    return .fail(.challengeMissing, "not in the client data")
  }
}
