import COpenSSL

/// Bytes nobody can guess, from libcrypto's generator (one a thread, seeded by the kernel).
public enum SecureRandom {
  /// `count` random bytes. Traps when the system has no randomness: nothing may go on without it.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(count >= 0 && count <= Int(Int32.max))
    var bytes = [UInt8](repeating: 0, count: count)
    let done = unsafe bytes.withUnsafeMutableBufferPointer { unsafe RAND_bytes($0.baseAddress, Int32($0.count)) }
    precondition(done == 1, "no randomness")
    return bytes
  }
}
