import Bytes

/// An attestation object, decoded: `{"fmt": "apple-appattest", "attStmt": {"x5c": [leaf, intermediate], "receipt": bytes}, "authData": bytes}`.
/// Nothing about it is verified yet.
public struct AttestationObject: Sendable, Equatable {
  /// In bytes; devices make 5,191 to 5,921.
  public static let byteCountMax = 16 << 10
  /// In bytes; Apple's are under 4 KiB.
  public static let receiptByteCountMax = 8 << 10

  /// `x5c`, each in DER: any number of them, which the verifier judges.
  public let certificates: [[UInt8]]
  /// `receipt`, of any size.
  public let receipt: [UInt8]
  /// `authData`: the bytes that the nonce covers.
  public let authenticatorData: [UInt8]
  /// What those bytes say.
  public let decoded: AuthenticatorData

  /// Why bytes are no attestation object of App Attest.
  public enum Failure: Error, Sendable, Equatable {
    /// Not the CBOR that it must be.
    case malformed(Malformed)
    /// An attestation object of this other format (WebAuthn has several).
    case otherFormat(String)
  }

  /// Decodes `bytes`, which must be exactly those members; one with another name makes it malformed, since no device writes one and
  /// nothing would cover it.
  public init(_ bytes: Span<UInt8>) throws(Failure) {
    let format: ByteRange
    let statement: [CBOR.Member]
    let authenticatorData: ByteRange
    do { (format, statement, authenticatorData) = try Self.members(of: bytes) } catch { throw .malformed(error) }
    guard bytes.bytes(at: format).equals("apple-appattest") else {
      throw .otherFormat(String(decoding: Array(copying: bytes.bytes(at: format)), as: UTF8.self))
    }
    do {
      (certificates, receipt) = try Self.parts(of: statement, in: bytes)
      self.authenticatorData = Array(copying: bytes.bytes(at: authenticatorData))
      decoded = try AuthenticatorData.decode(attestation: bytes.bytes(at: authenticatorData))
    } catch {
      throw .malformed(error)
    }
  }

  private static func members(
    of bytes: Span<UInt8>
  ) throws(Malformed) -> (format: ByteRange, statement: [CBOR.Member], authenticatorData: ByteRange) {
    guard bytes.count <= Self.byteCountMax else { throw Malformed("larger than \(Self.byteCountMax) bytes", at: 0) }
    guard case .map(let members) = try CBOR.decode(bytes) else { throw Malformed("not a CBOR map", at: 0) }
    var format: ByteRange?
    var statement: [CBOR.Member]?
    var authenticatorData: ByteRange?
    for member in members {
      if member.isNamed("fmt", in: bytes), case .text(let range) = member.value {
        format = range
      } else if member.isNamed("attStmt", in: bytes), case .map(let members) = member.value {
        statement = members
      } else if member.isNamed("authData", in: bytes), case .bytes(let range) = member.value {
        authenticatorData = range
      } else {
        throw Malformed("a member other than fmt, attStmt and authData, or of another type", at: member.encodedKey.start)
      }
    }
    guard let format, let statement, let authenticatorData else { throw Malformed("fmt, attStmt or authData is missing", at: 0) }
    return (format, statement, authenticatorData)
  }

  private static func parts(
    of statement: [CBOR.Member], in bytes: Span<UInt8>
  ) throws(Malformed) -> (certificates: [[UInt8]], receipt: [UInt8]) {
    var certificates: [[UInt8]]?
    var receipt: [UInt8]?
    for member in statement {
      if member.isNamed("x5c", in: bytes), case .array(let items) = member.value {
        var chain: [[UInt8]] = []
        for item in items {
          guard case .bytes(let range) = item else {
            throw Malformed("an element of x5c that is not a byte string", at: member.encodedKey.start)
          }
          chain.append(Array(copying: bytes.bytes(at: range)))
        }
        certificates = chain
      } else if member.isNamed("receipt", in: bytes), case .bytes(let range) = member.value {
        receipt = Array(copying: bytes.bytes(at: range))
      } else {
        throw Malformed("a member of attStmt other than x5c and receipt, or of another type", at: member.encodedKey.start)
      }
    }
    guard let certificates, let receipt else { throw Malformed("x5c or receipt is missing", at: 0) }
    return (certificates, receipt)
  }
}
