import Bytes
public import Cryptography

/// What is known of a key once its attestation is verified. Only the judgement below can make one.
public struct VerifiedAttestation: Sendable, Equatable {
  /// SHA-256 of ``publicKey``.
  public let keyIdentifier: KeyIdentifier
  /// The uncompressed point 0x04 ‖ X ‖ Y, 65 bytes.
  public let publicKey: [UInt8]
  /// The app that made the key.
  public let app: AppIdentity
  /// Where it was attested.
  public let environment: AttestationEnvironment
  /// SHA-256 of the trust anchor's DER.
  public let trustRoot: SHA256Digest
  /// Apple's receipt as it came, 1 to 8,192 bytes. Not verified, and not covered by anything that is.
  public let receipt: [UInt8]
  /// `apple_validation_category_01`, if the device wrote one.
  public let category: UInt32?
  /// `apple_bundle_version_01`, if the device wrote one.
  public let bundleVersion: String?

  fileprivate init(
    certificates: AttestationCertificates, root: SHA256Digest, app: AppIdentity, environment: AttestationEnvironment,
    object: AttestationObject
  ) {
    keyIdentifier = certificates.keyIdentifier
    publicKey = certificates.publicKey
    self.app = app
    self.environment = environment
    trustRoot = root
    receipt = object.receipt
    category = object.decoded.extensions.category
    bundleVersion = object.decoded.extensions.bundleVersion
  }
}

/// Apple's steps for an attestation object, in Apple's order and with Apple's numbers. Run by ``AttestationVerifier``, which gives every
/// input and stops at the first failure, and by ``AttestationInspection``, which gives what it has and goes on.
struct AttestationJudgement {
  typealias Steps = StepRecorder<AttestationRefusal>
  typealias Outcome = Steps.Outcome

  /// Nil admits any app.
  let apps: [AttestedApp]?
  /// The roots of all apps.
  let trustRoots: [Certificate]
  /// Those admitted where the app is not known.
  let environments: Set<AttestationEnvironment>
  let keyIdentifier: KeyIdentifier?
  let clientDataHash: [UInt8]?
  /// Only to explain a nonce that differs.
  var challenge: [UInt8]?
  let unixSeconds: Int

  func judge(_ bytes: [UInt8], _ steps: inout Steps) -> VerifiedAttestation? {
    // Before Apple's steps: the object is what a device makes, within its bounds.
    guard let object = steps.step("object", { decodeObject(bytes) }) else { return nil }
    let data = object.decoded
    steps.step("receipt") { judgeReceipt(object) }

    // Step 1: x5c holds the leaf and the intermediate certificate, and these lead to a trusted root, now.
    let certificates = steps.step(1, "certificates") { AttestationCertificates.read(object) }
    let root = steps.step(1, "certificate chain") { findRoot(of: certificates) }

    // Step 2: the client data hash is SHA-256 of the one-time challenge.
    let clientDataHash = steps.step(2, "client data hash") { takeClientDataHash() }

    // Step 3: the nonce is SHA-256 over the authenticator data followed by the client data hash.
    let nonce = steps.step(3, "nonce") { makeNonce(object, clientDataHash) }

    // Step 4: the leaf's extension 1.2.840.113635.100.8.2 holds the nonce; on a Mac, 100.8.6 holds the access control of a secured one.
    steps.step(4, "nonce in certificate") { compareNonce(certificates, nonce, object) }
    steps.step(4, "access control") { judgeAccessControl(certificates) }

    // Step 5: SHA-256 over the leaf's public key, as an uncompressed point, is the key identifier.
    let named = steps.step(5, "key identifier") { compareKeyIdentifier(certificates) }

    // Step 6: the RP ID hash is SHA-256 of the App ID.
    let app = steps.step(6, "RP ID hash") { findApp(data, certificates, root) }

    // Step 7: the counter is 0.
    steps.step(7, "counter") { data.counter == 0 ? .pass((), "0") : .fail(.counterNotZero, "\(data.counter), not 0") }

    // Step 8: the aaguid is that of an environment which is admitted.
    let environment = steps.step(8, "environment") { findEnvironment(data, root: root, app: app) }

    // Step 9: the credential identifier is the key identifier. And what Apple leaves out: the credential's key is the certified one.
    steps.step(9, "credential identifier") { compareCredentialIdentifier(data, certificates) }
    steps.step("credential public key") { compareCredentialKey(data, certificates) }

    // Steps 10 and 11: launch category and bundle version, which policy judges, not the verifier.
    steps.step(10, "validation category") { AuthenticatorExtensions.judge(data.extensions.category) }
    steps.step(11, "bundle version") { AuthenticatorExtensions.judge(data.extensions.bundleVersion) }

    guard steps.failure == nil, let certificates, let root, nonce != nil, named != nil, let app, let environment else { return nil }
    return VerifiedAttestation(certificates: certificates, root: root, app: app.identity, environment: environment, object: object)
  }
}
