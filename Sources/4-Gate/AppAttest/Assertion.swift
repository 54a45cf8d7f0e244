import Bytes

/// Why an assertion is not accepted. The raw values are the codes that clients see.
public enum AssertionRefusal: String, Sendable, CaseIterable {
  /// Not the CBOR that a device makes.
  case malformed = "assertion_malformed"
  /// Made for another app.
  case rpIDMismatch = "rp_id_mismatch"
  /// The counter is zero, which no assertion has, or not above the previous one.
  case counterReplayed = "counter_replayed"
  /// Signed by another key, or over other client data.
  case signatureInvalid = "signature_invalid"
}

/// An assertion as a device makes it, decoded: `{"signature": bytes, "authenticatorData": bytes}`. Nothing about it is verified yet.
public struct Assertion: Sendable, Equatable {
  /// In bytes; devices make 140 to 205.
  public static let byteCountMax = 1024

  /// The map as it came.
  public let bytes: [UInt8]
  /// What the signed bytes say.
  public let decoded: AuthenticatorData
  private let signatureRange: ByteRange
  private let authenticatorDataRange: ByteRange

  /// ECDSA signature in DER, at most 72 bytes.
  public var signature: Span<UInt8> {
    @_lifetime(borrow self)
    get { bytes.span.bytes(at: signatureRange) }
  }

  /// The signed bytes.
  public var authenticatorData: Span<UInt8> {
    @_lifetime(borrow self)
    get { bytes.span.bytes(at: authenticatorDataRange) }
  }

  /// Decodes `bytes`, which must be exactly that map; a member with another name makes it malformed, since no device writes one and
  /// nothing would sign it.
  public init(_ bytes: [UInt8]) throws(Malformed) {
    let (signature, authenticatorData) = try Self.members(of: bytes.span)
    decoded = try AuthenticatorData.decode(assertion: bytes.span.bytes(at: authenticatorData))
    signatureRange = signature
    authenticatorDataRange = authenticatorData
    self.bytes = bytes
  }

  private static func members(of bytes: Span<UInt8>) throws(Malformed) -> (signature: ByteRange, authenticatorData: ByteRange) {
    guard bytes.count <= Self.byteCountMax else { throw Malformed("larger than \(Self.byteCountMax) bytes", at: 0) }
    guard case .map(let members) = try CBOR.decode(bytes) else { throw Malformed("not a CBOR map", at: 0) }
    var signature: ByteRange?
    var authenticatorData: ByteRange?
    for member in members {
      guard case .bytes(let range) = member.value else {
        throw Malformed("a member that is not a byte string", at: member.encodedKey.start)
      }
      if member.isNamed("signature", in: bytes) {
        signature = range
      } else if member.isNamed("authenticatorData", in: bytes) {
        authenticatorData = range
      } else {
        throw Malformed("a member that is neither signature nor authenticatorData", at: member.encodedKey.start)
      }
    }
    guard let signature, let authenticatorData else { throw Malformed("signature or authenticatorData is missing", at: 0) }
    // Two integers of at most 33 bytes in a sequence.
    guard (8...72).contains(signature.count) else { throw Malformed("not the size of a P-256 signature", at: signature.start) }
    return (signature, authenticatorData)
  }

  /// Whether both say the same; the order of the map's members says nothing.
  public static func == (left: Assertion, right: Assertion) -> Bool {
    left.signature.equals(right.signature) && left.authenticatorData.equals(right.authenticatorData)
  }
}
