public import AppAttest
public import Cryptography

/// One app's key on one device, in software: attests and signs as Apple's devices do, byte for byte where they were measured.
///
/// It imitates what surprises verifiers: the nonce is hashed once more before it is signed, flags are set without the data they announce,
/// and a third of the signatures has high S.
public final class SimulatedDevice {
  /// The app that made the key.
  public let app: AppIdentity
  /// What it imitates.
  public let system: SimulatedSystem
  /// How often the key has signed.
  public private(set) var counter: UInt32

  private let key: P256PrivateKey

  /// Apple's receipts are PKCS #7 of some 3,700 bytes; nothing could be put there that Apple would answer to.
  private static let receipt = Array("No receipt: this device is simulated.".utf8)

  /// A device with a new key.
  public init(app: AppIdentity, system: SimulatedSystem = .iOS26) {
    self.app = app
    self.system = system
    counter = 0
    key = .generate()
  }

  init(app: AppIdentity, system: SimulatedSystem, counter: UInt32, key: P256PrivateKey) {
    self.app = app
    self.system = system
    self.counter = counter
    self.key = key
  }

  /// The private key in PEM: for its state file alone.
  var privateKeyPEM: String { key.pem }

  /// The public key's uncompressed point, 65 bytes.
  public var publicKey: [UInt8] { key.x963 }

  /// SHA-256 of the point: what `generateKey` gives an app.
  public var keyIdentifier: KeyIdentifier {
    let point = key.x963
    return KeyIdentifier(SHA256.digest(point.span))
  }

  /// The attestation object for a challenge, as an app asks for it: with the challenge's SHA-256 as client data hash.
  public func attest(
    challenge: [UInt8], authority: SimulatedAuthority, environment: AttestationEnvironment = .development, at unixSeconds: Int
  ) throws(DeviceFailure) -> [UInt8] {
    try attest(clientDataHash: SHA256.digest(challenge.span), authority: authority, environment: environment, at: unixSeconds)
  }

  /// The attestation object for a client data hash. `environment` says which aaguid the device claims; a gate calls the key `simulated` whatever it is.
  public func attest(
    clientDataHash: SHA256Digest, authority: SimulatedAuthority, environment: AttestationEnvironment = .development, at unixSeconds: Int
  ) throws(DeviceFailure) -> [UInt8] {
    let authenticatorData = attestationData(environment)
    let nonce = SHA256.digest(authenticatorData.span, clientDataHash.bytes.span)
    let certificates = try authority.certify(publicKey, nonce: nonce, at: unixSeconds)
    var object = CBORWriter()
    object.map(3)
    object.text("fmt")
    object.text("apple-appattest")
    object.text("attStmt")
    object.map(2)
    object.text("x5c")
    object.array(certificates.count)
    for certificate in certificates { object.byteString(certificate) }
    object.text("receipt")
    object.byteString(Self.receipt)
    object.text("authData")
    object.byteString(authenticatorData)
    return object.bytes
  }

  /// The assertion over client data: it raises the counter, so the state must be saved before the assertion leaves the device.
  public func assert(clientData: [UInt8]) -> [UInt8] {
    // A counter that is exhausted stays: a gate refuses what follows as replayed.
    if counter < .max { counter += 1 }
    let authenticatorData = head(counter: counter) + system.extensions
    let nonce = SHA256.digest(authenticatorData.span, SHA256.digest(clientData.span).bytes.span)
    // ECDSA hashes its message, which is the nonce: the second hash that Apple's devices make.
    let signature = key.sign(message: nonce.bytes.span, form: counter % 3 == 0 ? .highS : .lowS)
    var object = CBORWriter()
    object.map(2)
    object.text("signature")
    object.byteString(signature)
    object.text("authenticatorData")
    object.byteString(authenticatorData)
    return object.bytes
  }

  /// RP ID hash, flags and counter: 37 bytes.
  private func head(counter: UInt32) -> [UInt8] {
    app.rpIDHash.bytes + [system.flags] + (0..<4).map { UInt8(truncatingIfNeeded: counter >> UInt32(24 - 8 * $0)) }
  }

  private func attestationData(_ environment: AttestationEnvironment) -> [UInt8] {
    let point = publicKey
    var coseKey = CBORWriter()
    coseKey.map(5)
    for (label, value) in [(1, 2), (3, -7), (-1, 1)] {
      coseKey.number(label)
      coseKey.number(value)
    }
    coseKey.number(-2)
    coseKey.byteString(Array(point[1..<33]))
    coseKey.number(-3)
    coseKey.byteString(Array(point[33..<65]))
    let aaguid = environment == .production ? Array("appattest".utf8) + [UInt8](repeating: 0, count: 7) : Array("appattestdevelop".utf8)
    return head(counter: 0) + aaguid + [0, 32] + keyIdentifier.digest.bytes + coseKey.bytes + system.extensions
  }
}
