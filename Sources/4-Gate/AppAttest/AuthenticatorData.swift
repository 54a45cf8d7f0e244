import Bytes
public import Cryptography

/// What the device's authenticator says: of which app, how often it signed, and in an attestation which key it made.
///
/// The layout follows from the object that holds it, never from the flags: devices set the bits for credential data and extensions
/// whether or not these are there (iOS 14 to 27). An attestation always has credential data; the extension map is optional in both.
public struct AuthenticatorData: Sendable, Equatable {
  /// SHA-256 of the App ID.
  public let rpIDHash: SHA256Digest
  /// As they came; nothing is decided by them.
  public let flags: UInt8
  /// How often the key has signed.
  public let counter: UInt32
  /// The attested key, in an attestation only.
  public let credential: AttestedCredential?
  /// What devices add from iOS 27 on; empty without a map.
  public let extensions: AuthenticatorExtensions

  /// Bytes of RP ID hash, flags and counter.
  private static let headByteCount = 37

  /// Decodes the authenticator data of an attestation, to its last byte.
  public static func decode(attestation bytes: Span<UInt8>) throws(Malformed) -> AuthenticatorData {
    let (credential, end) = try AttestedCredential.decode(bytes, from: headByteCount)
    return try AuthenticatorData(bytes, credential: credential, extensionsFrom: end)
  }

  /// Decodes the authenticator data of an assertion, to its last byte.
  public static func decode(assertion bytes: Span<UInt8>) throws(Malformed) -> AuthenticatorData {
    try AuthenticatorData(bytes, credential: nil, extensionsFrom: headByteCount)
  }

  private init(_ bytes: Span<UInt8>, credential: AttestedCredential?, extensionsFrom start: Int) throws(Malformed) {
    guard bytes.count >= Self.headByteCount, let rpIDHash = SHA256Digest(bytes.extracting(0..<32)) else {
      throw Malformed("authenticator data shorter than \(Self.headByteCount) bytes", at: bytes.count)
    }
    self.rpIDHash = rpIDHash
    flags = bytes[32]
    counter = UInt32(bytes[33]) << 24 | UInt32(bytes[34]) << 16 | UInt32(bytes[35]) << 8 | UInt32(bytes[36])
    self.credential = credential
    extensions = start == bytes.count ? .none : try AuthenticatorExtensions(bytes, from: start)
  }
}

/// The key that an attestation is about.
public struct AttestedCredential: Sendable, Equatable {
  /// Names the environment: `appattest` and seven zero bytes, or `appattestdevelop`. 16 bytes.
  public let aaguid: [UInt8]
  /// The key identifier, as the authenticator writes it.
  public let identifier: KeyIdentifier
  /// The COSE key as an uncompressed point: 0x04 ‖ X ‖ Y, 65 bytes. Not yet known to lie on the curve.
  public let publicKey: [UInt8]

  /// Decodes aaguid, credential identifier and COSE key, which begin at `start`; says where the key ends.
  static func decode(_ bytes: Span<UInt8>, from start: Int) throws(Malformed) -> (credential: AttestedCredential, end: Int) {
    let keyStart = start + 16 + 2 + 32
    guard bytes.count >= keyStart else { throw Malformed("authenticator data without a whole credential", at: bytes.count) }
    guard bytes[start + 16] == 0, bytes[start + 17] == 32 else {
      throw Malformed("a credential identifier that is not 32 bytes long", at: start + 16)
    }
    guard let identifier = SHA256Digest(bytes.extracting(start + 18..<keyStart)) else {
      throw Malformed("authenticator data without a whole credential", at: bytes.count)
    }
    let (key, end) = try CBOR.decodePrefix(of: bytes, from: keyStart)
    guard let point = point(coseKey: key, in: bytes) else { throw Malformed("not a COSE key for ECDSA on P-256", at: keyStart) }
    let aaguid = [UInt8](copying: bytes.extracting(start..<start + 16))
    return (AttestedCredential(aaguid: aaguid, identifier: KeyIdentifier(identifier), publicKey: point), end)
  }

  /// The point of `{1: 2, 3: -7, -1: 1, -2: X, -3: Y}` (RFC 9053 sections 2.1 and 7.1.1), in any order and with no other member.
  private static func point(coseKey: CBOR, in bytes: Span<UInt8>) -> [UInt8]? {
    guard case .map(let members) = coseKey, members.count == 5 else { return nil }
    var x: ByteRange?
    var y: ByteRange?
    for member in members {
      // Five members, none repeated, each one of these five: so all five are there.
      switch (member.key, member.value) {
      case (.unsigned(1), .unsigned(2)): continue  // kty: EC2
      case (.unsigned(3), .negative(6)): continue  // alg: ES256
      case (.negative(0), .unsigned(1)): continue  // crv: P-256
      case (.negative(1), .bytes(let range)) where range.count == 32: x = range
      case (.negative(2), .bytes(let range)) where range.count == 32: y = range
      default: return nil
      }
    }
    guard let x, let y else { return nil }
    return [4] + Array(copying: bytes.bytes(at: x)) + Array(copying: bytes.bytes(at: y))
  }
}

/// The extension map behind the authenticator data (iOS 27 and later). Members that are not known are let be.
public struct AuthenticatorExtensions: Sendable, Equatable {
  /// `apple_validation_category_01`: how the app was launched; 2 is TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc.
  public let category: UInt32?
  /// `apple_bundle_version_01`: CFBundleVersion of the app.
  public let bundleVersion: String?

  /// No map, or a map without known members.
  static let none = AuthenticatorExtensions(category: nil, bundleVersion: nil)

  /// In bytes of UTF-8; it is stored with the key.
  public static let bundleVersionBytesMax = 255

  init(category: UInt32?, bundleVersion: String?) {
    self.category = category
    self.bundleVersion = bundleVersion
  }

  /// Decodes the map that begins at `start` and must end with the bytes.
  init(_ bytes: Span<UInt8>, from start: Int) throws(Malformed) {
    let (item, end) = try CBOR.decodePrefix(of: bytes, from: start)
    guard case .map(let members) = item else { throw Malformed("the extensions are not a map", at: start) }
    guard end == bytes.count else { throw Malformed("bytes follow the extension map", at: end) }
    var category: UInt32?
    var bundleVersion: String?
    for member in members {
      if member.isNamed("apple_validation_category_01", in: bytes) {
        category = try Self.category(member, in: bytes)
      } else if member.isNamed("apple_bundle_version_01", in: bytes) {
        bundleVersion = try Self.bundleVersion(member, in: bytes)
      }
    }
    self.init(category: category, bundleVersion: bundleVersion)
  }

  /// Devices write the number as a byte string of four, least significant first.
  private static func category(_ member: CBOR.Member, in bytes: Span<UInt8>) throws(Malformed) -> UInt32 {
    guard case .bytes(let range) = member.value, range.count == 4 else {
      throw Malformed("apple_validation_category_01 is not a byte string of 4", at: member.encodedKey.end)
    }
    var category: UInt32 = 0
    for index in 0..<4 { category |= UInt32(bytes[range.start + index]) << UInt32(8 * index) }
    return category
  }

  private static func bundleVersion(_ member: CBOR.Member, in bytes: Span<UInt8>) throws(Malformed) -> String {
    guard case .text(let range) = member.value, range.count <= bundleVersionBytesMax else {
      throw Malformed("apple_bundle_version_01 is not a text of at most \(bundleVersionBytesMax) bytes", at: member.encodedKey.end)
    }
    return String(decoding: Array(copying: bytes.bytes(at: range)), as: UTF8.self)
  }
}
