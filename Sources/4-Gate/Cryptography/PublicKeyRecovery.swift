import Bytes
import COpenSSL

/// A public key that signed a given message: it verifies by construction. Only a recovery makes one.
public struct RecoveredKey {
  /// The uncompressed point: 0x04 ‖ X ‖ Y, 65 bytes.
  public let x963: [UInt8]
  /// SHA-256 of the point: the key identifier of App Attest.
  public let digest: SHA256Digest
  /// SHA-256 of the message.
  let messageDigest: SHA256Digest

  fileprivate init(x963: [UInt8], digest: SHA256Digest, messageDigest: SHA256Digest) {
    self.x963 = x963
    self.digest = digest
    self.messageDigest = messageDigest
  }
}

/// Finds the public keys that a signature can come from (SEC 1 section 4.1.6), since an assertion does not name its key.
///
/// With R the point whose x is r, and z the message's digest: Q = ±(s/r)·R − (z/r)·G. So one inverse, one square root and two multiplications
/// serve both candidates. Not Sendable: it keeps libcrypto's numbers and scratch space, so each worker has its own.
@safe
public final class PublicKeyRecovery {
  private let context = unsafe Owned(allocated: BN_CTX_new(), BN_CTX_free)
  private let group = unsafe Owned(allocated: EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), EC_GROUP_free)
  private let order = Number()
  private let orderMinusTwo = Number()
  private let prime = Number()
  private let coefficientA = Number()
  private let coefficientB = Number()
  /// (p + 1) / 4: raising to it is the square root, since p is 3 modulo 4.
  private let rootExponent = Number()
  private let modOrder = unsafe Owned(allocated: BN_MONT_CTX_new(), BN_MONT_CTX_free)
  private let modPrime = unsafe Owned(allocated: BN_MONT_CTX_new(), BN_MONT_CTX_free)

  private let r = Number()
  private let s = Number()
  private let z = Number()
  private let x = Number()
  private let y = Number()
  private let ofR = Number()
  private let ofG = Number()
  private let pointR: Owned
  private let partR: Owned
  private let partG: Owned
  private let sum: Owned

  /// A recovery with its own scratch space.
  public init() {
    pointR = unsafe Owned(allocated: EC_POINT_new(group.pointer), EC_POINT_free)
    partR = unsafe Owned(allocated: EC_POINT_new(group.pointer), EC_POINT_free)
    partG = unsafe Owned(allocated: EC_POINT_new(group.pointer), EC_POINT_free)
    sum = unsafe Owned(allocated: EC_POINT_new(group.pointer), EC_POINT_free)
    var ready = unsafe EC_GROUP_get_order(group.pointer, order.pointer, context.pointer) == 1
    ready =
      unsafe ready && EC_GROUP_get_curve(group.pointer, prime.pointer, coefficientA.pointer, coefficientB.pointer, context.pointer) == 1
    ready = unsafe ready && BN_copy(orderMinusTwo.pointer, order.pointer) != nil && BN_sub_word(orderMinusTwo.pointer, 2) == 1
    ready = unsafe ready && BN_copy(rootExponent.pointer, prime.pointer) != nil && BN_add_word(rootExponent.pointer, 1) == 1
    ready = unsafe ready && BN_rshift(rootExponent.pointer, rootExponent.pointer, 2) == 1
    ready = unsafe ready && BN_MONT_CTX_set(modOrder.pointer, order.pointer, context.pointer) == 1
    ready = unsafe ready && BN_MONT_CTX_set(modPrime.pointer, prime.pointer, context.pointer) == 1
    precondition(ready, "libcrypto has no P-256")
  }

  /// The keys for which `signature` (strict DER, high S allowed) is valid over `message`, which is hashed here: two as a rule,
  /// none when the signature is malformed or its r is no point's, up to four in the negligible case r + n < p.
  public func candidates(signature: Span<UInt8>, message: Span<UInt8>) -> [RecoveredKey] {
    guard let signature = ECDSASignature(der: signature) else { return [] }
    let messageDigest = SHA256.digest(message)
    var keys = [RecoveredKey]()
    keys.reserveCapacity(2)
    guard load(signature, messageDigest), solve(messageDigest, into: &keys) else {
      ErrorQueue.clear()
      return keys
    }
    if signature.r.hasSecondCoordinate {
      let added = unsafe BN_add(x.pointer, r.pointer, order.pointer) == 1
      if !added || !solve(messageDigest, into: &keys) { ErrorQueue.clear() }
    }
    return keys
  }

  /// Computes s/r and −z/r modulo n, (z/r)·G, and sets x to r.
  private func load(_ signature: ECDSASignature, _ messageDigest: SHA256Digest) -> Bool {
    guard r.set(signature.r.bytes), s.set(signature.s.bytes), z.set(InlineArray(messageDigest)) else { return false }
    // r is public, so Fermat's inverse needs no constant time.
    guard unsafe BN_mod_exp_mont(y.pointer, r.pointer, orderMinusTwo.pointer, order.pointer, context.pointer, modOrder.pointer) == 1 else {
      return false
    }
    guard unsafe BN_mod_mul(ofR.pointer, s.pointer, y.pointer, order.pointer, context.pointer) == 1,
      unsafe BN_mod_mul(ofG.pointer, z.pointer, y.pointer, order.pointer, context.pointer) == 1,
      unsafe EC_POINT_mul(group.pointer, partG.pointer, ofG.pointer, nil, nil, context.pointer) == 1
    else { return false }
    return unsafe BN_copy(x.pointer, r.pointer) != nil
  }

  /// Adds the two keys of the point with coordinate `x`, or none when there is no such point. False when libcrypto failed at that.
  private func solve(_ messageDigest: SHA256Digest, into keys: inout [RecoveredKey]) -> Bool {
    guard setPointR() else { return false }
    guard unsafe EC_POINT_mul(group.pointer, partR.pointer, nil, pointR.pointer, ofR.pointer, context.pointer) == 1 else { return false }
    // −(z/r)·G ± (s/r)·R: first the sum, whose negative is one key; then the difference.
    guard unsafe EC_POINT_add(group.pointer, sum.pointer, partR.pointer, partG.pointer, context.pointer) == 1,
      unsafe EC_POINT_invert(group.pointer, sum.pointer, context.pointer) == 1
    else { return false }
    appendSum(messageDigest, to: &keys)
    guard unsafe EC_POINT_invert(group.pointer, partR.pointer, context.pointer) == 1,
      unsafe EC_POINT_add(group.pointer, sum.pointer, partR.pointer, partG.pointer, context.pointer) == 1,
      unsafe EC_POINT_invert(group.pointer, sum.pointer, context.pointer) == 1
    else { return false }
    appendSum(messageDigest, to: &keys)
    return true
  }

  /// Sets R to a point with coordinate `x`. False when there is none: the root of a number that is no square fails the curve's equation.
  private func setPointR() -> Bool {
    let p = unsafe prime.pointer
    let scratch = unsafe context.pointer
    // y² = (x² + a)·x + b
    return unsafe BN_mod_sqr(y.pointer, x.pointer, p, scratch) == 1
      && BN_mod_add_quick(y.pointer, y.pointer, coefficientA.pointer, p) == 1
      && BN_mod_mul(y.pointer, y.pointer, x.pointer, p, scratch) == 1
      && BN_mod_add_quick(y.pointer, y.pointer, coefficientB.pointer, p) == 1
      && BN_mod_exp_mont(y.pointer, y.pointer, rootExponent.pointer, p, scratch, modPrime.pointer) == 1
      && EC_POINT_set_affine_coordinates(group.pointer, pointR.pointer, x.pointer, y.pointer, scratch) == 1
  }

  private func appendSum(_ messageDigest: SHA256Digest, to keys: inout [RecoveredKey]) {
    var failed = false
    let point = unsafe [UInt8](unsafeUninitializedCapacity: P256PublicKey.x963ByteCount) { buffer, count in
      count = unsafe EC_POINT_point2oct(
        group.pointer, sum.pointer, POINT_CONVERSION_UNCOMPRESSED, buffer.baseAddress, buffer.count, context.pointer)
      // The point at infinity, one byte, is no key.
      failed = count != P256PublicKey.x963ByteCount
    }
    if !failed { keys.append(RecoveredKey(x963: point, digest: SHA256.digest(point.span), messageDigest: messageDigest)) }
  }
}

/// A number of libcrypto's, kept for reuse.
@safe
private struct Number: ~Copyable {
  private let owner = unsafe Owned(allocated: BN_new(), BN_free)

  var pointer: OpaquePointer { unsafe owner.pointer }

  /// Takes 32 bytes, big-endian. False when memory is out.
  func set(_ bytes: InlineArray<32, UInt8>) -> Bool {
    let span = bytes.span
    return unsafe span.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, Int32($0.count), owner.pointer) != nil }
  }
}
