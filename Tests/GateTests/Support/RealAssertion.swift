import AppAttest
import Bytes
import Cryptography
import Foundation
import Store

/// An assertion made by a real device, from Tests/Vectors, and the key that made it.
struct RealAssertion: Sendable, CustomStringConvertible {
  private struct Text: Decodable {
    let encoding: String
    let value: String

    var bytes: [UInt8] { encoding == "base64" ? Base64.decode(value, maximum: 4096) ?? [] : Array(value.utf8) }
  }

  private struct Entry: Decodable {
    let id: String
    let kind: String
    let file: String
    let teamId: String
    let bundleId: String
    let environment: String
    let publicKeyX963: String?
    let clientData: Text?
    let counter: UInt32?
  }

  private struct Catalogue: Decodable { let vectors: [Entry] }

  let description: String
  let app: AppIdentity
  let environment: AttestationEnvironment
  let publicKey: [UInt8]
  let clientData: [UInt8]
  let counter: UInt32
  let bytes: [UInt8]

  var key: EnrolledKey {
    EnrolledKey(
      identifier: KeyIdentifier(SHA256.digest(publicKey.span)), publicKey: publicKey, app: app.description, environment: environment,
      trustRoot: AppleRoots.appAttestation.digest)
  }

  static let all: [RealAssertion] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Vectors")
    guard let data = try? Data(contentsOf: folder.appending(path: "vectors.json")),
      let catalogue = try? JSONDecoder().decode(Catalogue.self, from: data)
    else { fatalError("Tests/Vectors/vectors.json cannot be read") }
    return catalogue.vectors.filter { $0.kind == "assertion" }.map { entry in
      guard let text = try? String(contentsOf: folder.appending(path: entry.file), encoding: .utf8),
        let bytes = Base64.decode(text.trimmingCharacters(in: .whitespacesAndNewlines), maximum: 1024),
        let environment = AttestationEnvironment(rawValue: entry.environment), let publicKey = entry.publicKeyX963,
        let clientData = entry.clientData, let counter = entry.counter
      else { fatalError("Tests/Vectors/\(entry.file) cannot be read") }
      return RealAssertion(
        description: entry.id, app: AppIdentity(prefix: entry.teamId, bundleIdentifier: entry.bundleId), environment: environment,
        publicKey: Base64.decode(publicKey, maximum: 65) ?? [], clientData: clientData.bytes, counter: counter, bytes: bytes)
    }
  }()
}
