import Bytes
import COpenSSL
import Testing

@testable import Cryptography

@Suite struct PublicKeyRecoveryTests {
  /// Recovery and verification are one equation: on a thousand keys, half the signatures with high S, the signer is found exactly once
  /// and every candidate verifies.
  @Test func theSignerIsFoundOnceAndEveryCandidateVerifies() throws {
    let recovery = PublicKeyRecovery()
    for round in 0..<1000 {
      let key = P256PrivateKey.generate()
      let message = SecureRandom.bytes(1 + round % 64)
      let signature = key.sign(message: message.span, form: round % 2 == 0 ? .highS : .lowS)
      let found = candidates(signature, message, recovery)
      #expect(found.count == 2)
      #expect(found.filter { $0.x963 == key.x963 }.count == 1)
      for candidate in found {
        #expect(candidate.digest == SHA256.digest(candidate.x963.span))
        let verifier = try #require(publicKey(candidate.x963))
        let verified = verify(signature, over: message, verifier)
        let proof = candidate.proof()
        let proven = [proof.publicKeyDigest, proof.messageDigest]
        #expect(verified == proven)
      }
    }
    #expect(ERR_peek_error() == 0)
  }

  @Test func anotherMessageRecoversOtherKeys() {
    let recovery = PublicKeyRecovery()
    let key = P256PrivateKey.generate()
    let message = Array("a message".utf8)
    let other = Array("another message".utf8)
    for _ in 0..<100 {
      let signature = key.sign(message: message.span)
      #expect(!candidates(signature, other, recovery).contains { $0.x963 == key.x963 })
      var flipped = signature
      flipped[signature.count - 1] ^= 1
      #expect(!candidates(flipped, message, recovery).contains { $0.x963 == key.x963 })
    }
  }

  /// r below p − n stands for two coordinates, r and r + n. Such a signature cannot be made from a key, but any r and s are a signature
  /// of the keys that recovery gives: verification, which knows nothing of recovery, must agree for each of them.
  @Test func smallRHasUpToFourKeys() throws {
    let recovery = PublicKeyRecovery()
    let message = Array("a message".utf8)
    var counts = Set<Int>()
    for r in UInt8(1)..<64 {
      let signature: [UInt8] = [0x30, 0x06, 0x02, 0x01, r, 0x02, 0x01, 0x05]
      let found = candidates(signature, message, recovery)
      counts.insert(found.count)
      #expect(Set(found.map(\.digest)).count == found.count)
      for candidate in found {
        let verifier = try #require(publicKey(candidate.x963))
        #expect(isValid(signature, over: message, verifier))
      }
      #expect(ERR_peek_error() == 0)
    }
    // Neither, one, or both of r and r + n are coordinates of a point.
    #expect(counts == [0, 2, 4])
  }

  @Test(arguments: [
    ("4319055358e8617b0c46353d039cdaad", true),
    ("4319055358e8617b0c46353d039cdaae", false),
    ("4319055458e8617b0c46353d039cdaad", false),
  ])
  func theSecondCoordinateEndsAtTheField(digits: String, exists: Bool) throws {
    let content = bytes(hexadecimal: digits)
    let scalar = P256Scalar(integer: content.span)
    #expect(scalar?.hasSecondCoordinate == exists)
  }

  /// The negative of (z/r)·G may be one of the sums: then a candidate would be the point at infinity, which is no key.
  @Test func theKeyAtInfinityIsNoCandidate() throws {
    // With R = k·G and s = z/k the key is (s/r)·R − (z/r)·G = infinity. Take k = 1: r is the generator's x, s = z.
    let message = Array("a message".utf8)
    let z = SHA256.digest(message.span).bytes
    let generatorX = bytes(hexadecimal: "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
    let s = z[0] >= 0x80 ? [0] + z : z
    let content: [UInt8] = [0x02, 0x20] + generatorX + [0x02, UInt8(s.count)] + s
    let signature = [0x30, UInt8(content.count)] + content
    try #require(scalars(signature) != nil)
    let found = candidates(signature, message)
    #expect(found.count == 1)
    let verifier = try #require(publicKey(found[0].x963))
    #expect(isValid(signature, over: message, verifier))
  }

  @Test func threadsRecoverSideBySide() async {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let recovery = PublicKeyRecovery()
          let key = P256PrivateKey.generate()
          return (0..<50).allSatisfy { round in
            let message = [UInt8](repeating: UInt8(round), count: 40)
            let signature = key.sign(message: message.span)
            return recovery.candidates(signature: signature.span, message: message.span).contains { $0.x963 == key.x963 }
          }
        }
      }
      for await found in group { #expect(found) }
    }
  }
}
