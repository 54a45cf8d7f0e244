/// HMAC with SHA-256 (RFC 2104): seals what the gate gives out and wants to know again.
public enum HMACSHA256 {
  /// SHA-256 works on blocks of 64 bytes.
  private static let blockBytes = 64

  /// The code of `message` under `key`, a key of any length.
  public static func code(key: Span<UInt8>, message: Span<UInt8>) -> SHA256Digest {
    code(key: key, message, Span())
  }

  /// The code of `first` followed by `second` under `key`.
  public static func code(key: Span<UInt8>, _ first: Span<UInt8>, _ second: Span<UInt8>) -> SHA256Digest {
    var block = InlineArray<64, UInt8>(repeating: 0)
    if key.count > blockBytes {
      let digest = SHA256.digest(key)
      for index in 0..<SHA256Digest.byteCount { block[index] = digest[index] }
    } else {
      for index in key.indices { block[index] = key[index] }
    }
    for index in 0..<blockBytes { block[index] ^= 0x36 }
    var inner = SHA256()
    inner.update(block.span)
    inner.update(first)
    inner.update(second)
    let innerDigest = inner.finalize()
    for index in 0..<blockBytes { block[index] ^= 0x36 ^ 0x5C }
    return SHA256.digest(block.span, innerDigest.span)
  }
}
