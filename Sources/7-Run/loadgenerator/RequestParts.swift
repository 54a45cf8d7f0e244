import Bytes
import CLinux
import Cryptography

/// What the parts of a gated request cost on this machine now, in CPU microseconds: the sum that the gate is compared with.
struct RequestParts {
  /// One ECDSA verification on P-256, the public key kept decoded.
  var verification: Double
  /// One recovery of both candidates.
  var recovery: Double
  /// SHA-256 of a usual client data and of the authenticator data with that digest.
  var headDigests: Double
  /// SHA-256 of 4 KiB.
  var bodyDigest: Double

  /// Measures each part in a few tenths of a second.
  static func measured() -> RequestParts {
    let samples = (0..<64).map { Sample($0) }
    let recovery = PublicKeyRecovery()
    let clientData = [UInt8](repeating: 0x61, count: 280)
    let authenticatorData = [UInt8](repeating: 1, count: 37)
    let body = [UInt8](repeating: 2, count: 4096)
    return RequestParts(
      verification: microseconds(rounds: 40) {
        for sample in samples { sample.verify() }
        return samples.count
      },
      recovery: microseconds(rounds: 30) {
        for sample in samples { sample.recover(with: recovery) }
        return samples.count
      },
      headDigests: microseconds(rounds: 100) {
        for _ in 0..<1000 {
          let digest = SHA256.digest(clientData.span).bytes
          _ = SHA256.digest(authenticatorData.span, digest.span)
        }
        return 1000
      },
      bodyDigest: microseconds(rounds: 100) {
        for _ in 0..<250 { _ = SHA256.digest(body.span) }
        return 250
      })
  }

  /// The cost of one of the pieces of work that `work` counts. CPU time, so that others on the machine disturb it little.
  private static func microseconds(rounds: Int, _ work: () -> Int) -> Double {
    _ = work()
    let start = clock()
    var count = 0
    for _ in 0..<rounds { count += work() }
    return Double(clock() - start) * 1e6 / Double(CLOCKS_PER_SEC) / Double(count)
  }

  /// For people.
  var text: String {
    """
    P-256 verification \(Measurement.rounded(verification)) µs
    key recovery \(Measurement.rounded(recovery)) µs
    SHA-256 of the inputs \(Measurement.rounded(headDigests)) µs
    SHA-256 of 4 KiB \(Measurement.rounded(bodyDigest)) µs
    """
  }

  /// For programs.
  var json: String {
    "{\"verify_us\":\(Measurement.rounded(verification)),\"recover_us\":\(Measurement.rounded(recovery)),"
      + "\"head_digests_us\":\(Measurement.rounded(headDigests)),\"body_digest_us\":\(Measurement.rounded(bodyDigest))}"
  }
}

/// A key and a signature of its own.
private struct Sample {
  let key: P256PublicKey
  let message: [UInt8]
  let signature: [UInt8]

  init(_ number: Int) {
    let privateKey = P256PrivateKey.generate()
    let point = privateKey.x963
    guard let key = P256PublicKey(x963: point.span) else { preconditionFailure("a generated key is on the curve") }
    self.key = key
    let message = SHA256.digest([UInt8(truncatingIfNeeded: number)].span).bytes
    self.message = message
    signature = privateKey.sign(message: message.span)
  }

  func verify() {
    let isValid = key.verify(signature: signature.span, message: message.span) != nil
    precondition(isValid, "a signature verifies with its own key")
  }

  func recover(with recovery: PublicKeyRecovery) {
    let count = recovery.candidates(signature: signature.span, message: message.span).count
    precondition(count >= 2, "a signature has two candidates")
  }
}
