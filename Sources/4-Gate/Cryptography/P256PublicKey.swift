import Bytes
import COpenSSL

/// A P-256 public key, decoded once and kept: verifying with it costs about 80 µs, decoding it 25 µs more.
///
/// Not Sendable: it keeps libcrypto's context between verifications, so each worker has its own. Verifying is in SignatureValid.swift.
@safe
public final class P256PublicKey {
  /// The uncompressed point (SEC 1 section 2.3.3): 0x04 ‖ X ‖ Y, 65 bytes.
  public let x963: [UInt8]
  /// SHA-256 of the point: Apple's key identifier.
  public let keyDigest: SHA256Digest

  /// Size of an uncompressed point in bytes.
  public static let x963ByteCount = 65

  private let key: Owned
  private let verification: Owned

  /// The key with this uncompressed point; nil unless it is 65 bytes, begins with 0x04 and lies on the curve.
  public init?(x963 bytes: Span<UInt8>) {
    guard bytes.count == Self.x963ByteCount, bytes[0] == 0x04, let key = EllipticCurve.p256.publicKey(x963: bytes) else { return nil }
    let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
    let verification = unsafe Owned(allocated: context, EVP_PKEY_CTX_free)
    let started = unsafe EVP_PKEY_verify_init(verification.pointer)
    precondition(started == 1, "libcrypto has no ECDSA")
    self.x963 = [UInt8](copying: bytes)
    self.keyDigest = SHA256.digest(bytes)
    self.key = key
    self.verification = verification
  }

  /// Whether `signature`, known to be strict DER, is one over `digest`.
  func isSignature(_ signature: Span<UInt8>, over digest: SHA256Digest) -> Bool {
    let digestSpan = digest.span
    let result = unsafe signature.withUnsafeBufferPointer { signature in
      unsafe digestSpan.withUnsafeBufferPointer { digest in
        unsafe EVP_PKEY_verify(verification.pointer, signature.baseAddress, signature.count, digest.baseAddress, digest.count)
      }
    }
    if result != 1 { ErrorQueue.clear() }
    return result == 1
  }
}
