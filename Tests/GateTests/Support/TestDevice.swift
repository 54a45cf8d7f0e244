import AppAttest
import Bytes
import Cryptography
import Store

@testable import Gate

/// A key that signs as real devices do: a double hash, flags 0x40 without the data that they announce, a high S every third time.
final class TestDevice {
  static let shop = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")
  static let bank = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.bank")

  let key = P256PrivateKey.generate()
  let app: AppIdentity
  private(set) var counter: UInt32 = 0

  init(app: AppIdentity = TestDevice.shop) { self.app = app }

  var identifier: KeyIdentifier { KeyIdentifier(SHA256.digest(key.x963.span)) }

  func enrolledKey(
    environment: AttestationEnvironment = .production, trustRoot: SHA256Digest = AppleRoots.appAttestation.digest
  ) -> EnrolledKey {
    EnrolledKey(identifier: identifier, publicKey: key.x963, app: app.description, environment: environment, trustRoot: trustRoot)
  }

  /// The CBOR of `generateAssertion` over `clientData`, with the next counter unless another is wanted.
  func assertion(over clientData: [UInt8], counter wanted: UInt32? = nil, app other: AppIdentity? = nil) -> [UInt8] {
    counter += 1
    let value = wanted ?? counter
    counter = max(counter, value)
    var data = (other ?? app).rpIDHash.bytes
    data.append(0x40)
    for shift in [24, 16, 8, 0] { data.append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    let nonce = SHA256.digest(data.span, SHA256.digest(clientData.span).bytes.span).bytes
    let signature = key.sign(message: nonce.span, form: value % 3 == 0 ? .highS : .lowS)
    return [0xA2] + Self.text("signature") + Self.bytes(signature) + Self.text("authenticatorData") + Self.bytes(data)
  }

  static func text(_ text: String) -> [UInt8] { [0x60 | UInt8(text.utf8.count)] + Array(text.utf8) }

  static func bytes(_ bytes: [UInt8]) -> [UInt8] {
    switch bytes.count {
    case ..<24: [0x40 | UInt8(bytes.count)] + bytes
    case ..<256: [0x58, UInt8(bytes.count)] + bytes
    default: [0x59, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }
  }
}
