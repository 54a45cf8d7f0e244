import AppAttest
import Bytes
import Cryptography
import Foundation
import Testing

/// An object made by a real device, from Tests/Vectors.
struct Vector: Sendable, CustomTestStringConvertible {
  struct Entry: Decodable, Sendable {
    struct Observed: Decodable, Sendable {
      struct Extensions: Decodable, Sendable {
        struct Category: Decodable, Sendable { let value: UInt32 }
        let apple_bundle_version_01: String
        let apple_validation_category_01: Category
      }
      let flags: String?
      let leafValidity: [String]?
      let extensions: Extensions?
    }

    struct Text: Decodable, Sendable {
      let encoding: String
      let value: String
    }

    let id: String
    let kind: String
    let file: String
    let teamId: String
    let bundleId: String
    let environment: String
    let keyId: String
    let publicKeyX963: String?
    let challenge: Text?
    let clientData: Text?
    let clientDataHash: String?
    let clientDataHashIs: String?
    let evaluateAt: String?
    let counter: UInt32?
    let observed: Observed
  }

  private struct Catalogue: Decodable { let vectors: [Entry] }

  let entry: Entry
  let bytes: [UInt8]

  var testDescription: String { entry.id }
  var app: AppIdentity { AppIdentity(prefix: entry.teamId, bundleIdentifier: entry.bundleId) }
  var environment: AttestationEnvironment { AttestationEnvironment(rawValue: entry.environment)! }
  var keyIdentifier: KeyIdentifier { KeyIdentifier(base64: Array(entry.keyId.utf8).span)! }
  var publicKey: [UInt8] { Base64.decode(entry.publicKeyX963!, maximum: 65)! }
  var clientDataHash: [UInt8] { Base64.decode(entry.clientDataHash!, maximum: 64)! }
  var clientDataDigest: SHA256Digest { SHA256Digest(clientDataHash.span)! }
  var unixSeconds: Int { UTCTime.unixSeconds(entry.evaluateAt!)! }
  /// Apple's two published samples pass the challenge itself.
  var hashesChallenge: Bool { entry.clientDataHashIs == "sha256(challenge)" }
  var challenge: [UInt8] { Self.bytes(of: entry.challenge!) }
  var clientData: [UInt8] { Self.bytes(of: entry.clientData!) }

  private static func bytes(of text: Entry.Text) -> [UInt8] {
    text.encoding == "base64" ? Base64.decode(text.value, maximum: 1024)! : Array(text.value.utf8)
  }

  static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Vectors")

  static func file(_ path: String) -> [UInt8] {
    guard let data = try? Data(contentsOf: folder.appending(path: path)) else { fatalError("no Tests/Vectors/\(path)") }
    return Array(data)
  }

  static let all: [Vector] = {
    guard let catalogue = try? JSONDecoder().decode(Catalogue.self, from: Data(file("vectors.json"))) else {
      fatalError("Tests/Vectors/vectors.json cannot be read")
    }
    return catalogue.vectors.map { entry in
      let text = file(entry.file).filter { $0 != 0x0A }
      return Vector(entry: entry, bytes: Base64.decode(text.span, maximum: 1 << 16)!)
    }
  }()

  static let attestations = all.filter { $0.entry.kind == "attestation" }
  static let assertions = all.filter { $0.entry.kind == "assertion" }
  static let newest = attestations.first { $0.entry.id == "ricardo-ios27.0.1-dev.attestation" }!

  /// A verifier for just this object's app and environment.
  var verifier: AttestationVerifier { AttestationVerifier(apps: [AttestedApp(app, environments: [environment])]) }

  /// The verdict on `object`, with everything else as it should be.
  func verdict(on object: [UInt8]) -> AttestationVerdict {
    verifier.verify(object: object, keyIdentifier: keyIdentifier, clientDataHash: clientDataHash, at: unixSeconds)
  }
}

extension AttestationVerdict {
  /// The code of a refusal, nil when verified.
  var code: String? {
    guard case .refused(let refusal, _) = self else { return nil }
    return refusal.rawValue
  }

  var verified: VerifiedAttestation? {
    guard case .verified(let verified) = self else { return nil }
    return verified
  }
}
