import AppAttest
import Bytes
import Cryptography
import Fixtures
import Foundation
import Testing

@testable import SimulatedDevice

@Suite struct SimulatedDeviceTests {
  static let now = 1_780_000_000
  static let app = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")
  static let systems = [SimulatedSystem.iOS26, .iOS27(category: 4, bundleVersion: "1143")]
  let challenge = Array("a challenge of the gate".utf8)

  func verdict(_ object: [UInt8], _ device: SimulatedDevice, roots: [Certificate], challenge: [UInt8]? = nil, at time: Int = now)
    -> AttestationVerdict
  {
    let verifier = AttestationVerifier(apps: [AttestedApp(Self.app, environments: [.simulated], trustRoots: roots)])
    let hash = digest(challenge ?? self.challenge).bytes
    return verifier.verify(object: object, keyIdentifier: device.keyIdentifier, clientDataHash: hash, at: time)
  }

  @Test(arguments: systems, [AttestationEnvironment.development, .production])
  func anAttestationIsAcceptedByWhoTrustsTheAuthority(system: SimulatedSystem, environment: AttestationEnvironment) throws {
    let authority = try SimulatedAuthority(at: Self.now)
    let device = SimulatedDevice(app: Self.app, system: system)
    let object = try device.attest(challenge: challenge, authority: authority, environment: environment, at: Self.now)
    guard case .verified(let verified) = verdict(object, device, roots: [authority.root]) else {
      Issue.record("\(verdict(object, device, roots: [authority.root]))")
      return
    }
    #expect(verified.app == Self.app)
    #expect(verified.environment == .simulated)
    #expect(verified.publicKey == device.publicKey)
    #expect(verified.trustRoot == authority.root.digest)
    let written: SimulatedSystem = verified.category.map { .iOS27(category: $0, bundleVersion: verified.bundleVersion ?? "") } ?? .iOS26
    #expect(written == system)
    #expect(device.counter == 0)
  }

  @Test func anAttestationIsForItsChallengeAuthorityAndTimeAlone() throws {
    let authority = try SimulatedAuthority(at: Self.now)
    let device = SimulatedDevice(app: Self.app)
    let object = try device.attest(challenge: challenge, authority: authority, at: Self.now)
    func refusal(_ verdict: AttestationVerdict) -> AttestationRefusal? {
      guard case .refused(let refusal, _) = verdict else { return nil }
      return refusal
    }
    let other = try SimulatedAuthority(at: Self.now)
    #expect(refusal(verdict(object, device, roots: [authority.root], challenge: [1])) == .nonceMismatch)
    #expect(refusal(verdict(object, device, roots: [other.root])) == .certificateChainInvalid)
    #expect(refusal(verdict(object, device, roots: [AppleRoots.appAttestation])) == .certificateChainInvalid)
    #expect(refusal(verdict(object, device, roots: [authority.root], at: Self.now + 3 * 86_400)) == .certificateChainInvalid)
    #expect(refusal(verdict(object, SimulatedDevice(app: Self.app), roots: [authority.root])) == .keyIDMismatch)
  }

  /// Every byte in front of the credential's own values is where a real device of the same generation puts it.
  @Test(arguments: [("veehaitch-ios14.4-dev", systems[0]), ("ricardo-ios27.0.1-dev", systems[1])])
  func theLayoutIsThatOfARealDevice(name: String, system: SimulatedSystem) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let attestation = try vector(file.appending(path: "Vectors/attestations/\(name).b64"))
    let assertion = try vector(file.appending(path: "Vectors/assertions/\(name).b64"))
    let device = SimulatedDevice(app: Self.app, system: system)
    let ours = try device.attest(challenge: challenge, authority: SimulatedAuthority(at: Self.now), at: Self.now)
    let ourAssertion = device.assert(clientData: challenge)
    // {"fmt": "apple-appattest", "attStmt": {"x5c": [2 certificates, and that the first has a length of two bytes.
    #expect(ours.prefix(36) == attestation.prefix(36))
    let ourData = try attestationObject(ours).authenticatorData
    let realData = try attestationObject(attestation).authenticatorData
    // Flags, counter, aaguid and the length of the identifier; then the COSE key's labels; then the extension map.
    #expect(ourData[32..<55] == realData[32..<55])
    #expect(ourData[87..<97] == realData[87..<97])
    #expect(ourData[129..<132] == realData[129..<132])
    #expect(ourData[164...].prefix(26) == realData[164...].prefix(26))
    #expect(ourAssertion.prefix(11) == assertion.prefix(11))
    let ourSigned = try signedBytes(ourAssertion)
    let realSigned = try signedBytes(assertion)
    #expect(ourSigned[32] == realSigned[32])
    #expect(ourSigned[37...].prefix(26) == realSigned[37...].prefix(26))
  }

  /// The authenticator data of an assertion.
  private func signedBytes(_ bytes: [UInt8]) throws -> [UInt8] {
    let assertion = try assertionObject(bytes)
    return Array(copying: assertion.authenticatorData)
  }

  func vector(_ file: URL) throws -> [UInt8] {
    let text = try String(contentsOf: file, encoding: .utf8).filter { !$0.isWhitespace }
    return try #require(Base64.decode(text, maximum: 16_384))
  }

  @Test(arguments: systems)
  func assertionsAreVerifiedAndCountUp(system: SimulatedSystem) throws {
    let device = SimulatedDevice(app: Self.app, system: system)
    let recovery = PublicKeyRecovery()
    for count in 1...12 {
      let clientData = Array("request \(count)".utf8)
      let assertion = try assertionObject(device.assert(clientData: clientData))
      let hash = digest(clientData)
      let nonce = assertion.nonce(clientDataHash: hash).bytes
      let key = recovery.candidates(signature: assertion.signature, message: nonce.span).first {
        $0.digest == device.keyIdentifier.digest
      }
      let proof = try #require(key).proof()
      let counter: UInt32? =
        switch assertion.verdict(signature: proof, clientDataHash: hash, rpIDHash: Self.app.rpIDHash) {
        case .verified(let verified): verified.counter
        case .refused: nil
        }
      #expect(counter == UInt32(count))
      #expect(device.counter == UInt32(count))
    }
  }

  @Test func aThirdOfTheSignaturesHasHighS() throws {
    let device = SimulatedDevice(app: Self.app)
    let half = [0x7F, 0xFF, 0xFF, 0xFF, 0x80, 0x00, 0x00, 0x00, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] as [UInt8]
    var high = 0
    for _ in 0..<30 {
      let assertion = try assertionObject(device.assert(clientData: []))
      let signature = Array(copying: assertion.signature)
      let s = signature[(4 + Int(signature[3]) + 2)...].drop { $0 == 0 }
      if s.count == 32, half.lexicographicallyPrecedes(s.prefix(16)) { high += 1 }
    }
    #expect(high == 10)
  }

  @Test func anExhaustedCounterStays() {
    let device = SimulatedDevice(app: Self.app, system: .iOS26, counter: .max, key: .generate())
    _ = device.assert(clientData: [])
    #expect(device.counter == .max)
  }
}
