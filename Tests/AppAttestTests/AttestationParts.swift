import AppAttest
import Bytes
import Cryptography

/// An attestation object taken apart, so that one part at a time can be spoiled.
struct AttestationParts {
  var format = "apple-appattest"
  var certificates: [[UInt8]]
  var receipt: [UInt8]
  var authenticatorData: [UInt8]

  init(_ vector: Vector) {
    guard let object = try? AttestationObject(vector.bytes.span) else { fatalError("\(vector.entry.id) cannot be decoded") }
    certificates = object.certificates
    receipt = object.receipt
    authenticatorData = object.authenticatorData
  }

  init(certificates: [[UInt8]], receipt: [UInt8], authenticatorData: [UInt8]) {
    self.certificates = certificates
    self.receipt = receipt
    self.authenticatorData = authenticatorData
  }

  var statement: [(Item, Item)] {
    [(.text("x5c"), .array(certificates.map { .bytes($0) })), (.text("receipt"), .bytes(receipt))]
  }

  var members: [(Item, Item)] {
    [(.text("fmt"), .text(format)), (.text("attStmt"), .map(statement)), (.text("authData"), .bytes(authenticatorData))]
  }

  /// The object with these parts, in the order that devices use.
  var encoded: [UInt8] { Item.map(members).encoded }
}

/// Writes authenticator data: good unless told otherwise.
struct AuthenticatorDataDraft: Sendable {
  var rpIDHash: [UInt8]
  var flags: UInt8 = 0x40
  var counter: UInt32 = 0
  var aaguid = Array("appattestdevelop".utf8)
  var credentialIdentifier: [UInt8] = []
  var coseKey: [(Item, Item)] = []
  var tail: [UInt8] = []

  static func coseKey(_ point: [UInt8]) -> [(Item, Item)] {
    [
      (.number(1), .number(2)), (.number(3), .number(-7)), (.number(-1), .number(1)), (.number(-2), .bytes(Array(point[1..<33]))),
      (.number(-3), .bytes(Array(point[33...]))),
    ]
  }

  var head: [UInt8] { rpIDHash + [flags] + [24, 16, 8, 0].map { UInt8(counter >> $0 & 255) } }
  var assertion: [UInt8] { head + tail }
  var attestation: [UInt8] {
    head + aaguid + [UInt8(credentialIdentifier.count >> 8), UInt8(credentialIdentifier.count & 255)] + credentialIdentifier
      + Item.map(coseKey).encoded + tail
  }

  /// The extension map of iOS 27.
  static func extensions(category: UInt32, version: String) -> [UInt8] {
    let bytes = [0, 8, 16, 24].map { UInt8(category >> $0 & 255) }
    return Item.map([
      (.text("apple_validation_category_01"), .bytes(bytes)), (.text("apple_bundle_version_01"), .text(version)),
    ]).encoded
  }
}
