import COpenSSL

/// SHA-256 (FIPS 180-4), for bytes that come in parts. Its state is held in place: no message costs an allocation.
public struct SHA256: ~Copyable {
  private var context = SHA256_CTX()

  /// A digest over no bytes yet.
  public init() {
    let started = unsafe cossl_sha256_begin(&context)
    precondition(started == 1, "SHA-256 failed")
  }

  /// Appends `bytes` to the message.
  public mutating func update(_ bytes: Span<UInt8>) {
    // libcrypto reads exactly `count` bytes while they are lent.
    let done = unsafe bytes.withUnsafeBufferPointer { unsafe cossl_sha256_update(&context, $0.baseAddress, $0.count) }
    precondition(done == 1, "SHA-256 failed")
  }

  /// The digest of everything that was appended.
  public consuming func finalize() -> SHA256Digest {
    var output = InlineArray<32, UInt8>(repeating: 0)
    var bytes = output.mutableSpan
    // SHA-256 writes exactly 32 bytes.
    let done = unsafe bytes.withUnsafeMutableBufferPointer { unsafe cossl_sha256_end(&context, $0.baseAddress) }
    precondition(done == 1, "SHA-256 failed")
    return SHA256Digest(output)
  }

  /// The digest of `message`.
  public static func digest(_ message: Span<UInt8>) -> SHA256Digest {
    var hash = SHA256()
    hash.update(message)
    return hash.finalize()
  }

  /// The digest of `first` followed by `second`, as App Attest's nonce is made.
  public static func digest(_ first: Span<UInt8>, _ second: Span<UInt8>) -> SHA256Digest {
    var hash = SHA256()
    hash.update(first)
    hash.update(second)
    return hash.finalize()
  }
}
