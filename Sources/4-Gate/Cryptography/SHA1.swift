import COpenSSL

/// SHA-1 (FIPS 180-4). It protects nothing here: the handshake of WebSocket is made with it (RFC 6455 section 4.2.2).
public enum SHA1 {
  /// The 20 bytes of the digest of `message`.
  public static func digest(_ message: Span<UInt8>) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: 20)
    var bytes = output.mutableSpan
    let done = unsafe message.withUnsafeBufferPointer { message in
      // SHA-1 writes exactly 20 bytes.
      unsafe bytes.withUnsafeMutableBufferPointer { output in
        unsafe EVP_Q_digest(nil, "SHA1", nil, message.baseAddress, message.count, output.baseAddress, nil)
      }
    }
    precondition(done == 1, "libcrypto has no SHA-1")
    return output
  }
}
