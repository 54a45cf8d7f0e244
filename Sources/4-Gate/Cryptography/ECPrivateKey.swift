import COpenSSL

/// A private key on either curve: what ``P256PrivateKey`` and ``P384PrivateKey`` share.
@safe
struct ECPrivateKey: ~Copyable {
  private let key: Owned

  /// Valid as long as this value lives.
  var pointer: OpaquePointer { unsafe key.pointer }

  init(generatingOn curve: EllipticCurve) {
    let context = unsafe Owned(allocated: EVP_PKEY_CTX_new_from_name(nil, "EC", nil), EVP_PKEY_CTX_free)
    var made: OpaquePointer?
    let done =
      unsafe EVP_PKEY_keygen_init(context.pointer) == 1
      && EVP_PKEY_CTX_set_group_name(context.pointer, curve.name) == 1
      && EVP_PKEY_generate(context.pointer, &made) == 1
    precondition(done, "libcrypto cannot make a key")
    key = unsafe Owned(allocated: made, EVP_PKEY_free)
  }

  /// From one PEM block, PKCS #8 or SEC 1, without a password. Nil for anything else, or a key on another curve.
  init?(pem: Span<UInt8>, on curve: EllipticCurve) {
    guard pem.count <= PEM.bytesMax else { return nil }
    defer { ErrorQueue.clear() }
    // The empty password keeps libcrypto from asking a terminal for one.
    let input = PEM.reader(of: pem)
    var noPassword: CChar = 0
    let parsed = unsafe PEM_read_bio_PrivateKey(input.pointer, nil, nil, &noPassword)
    guard let key = unsafe Owned(parsed, EVP_PKEY_free), unsafe curve.holds(key.pointer) else { return nil }
    self.key = key
  }

  /// PKCS #8, not encrypted: the file's mode must protect it.
  var pem: String {
    let output = unsafe Owned(allocated: BIO_new(BIO_s_mem()), { unsafe _ = BIO_free($0) })
    let done = unsafe PEM_write_bio_PrivateKey(output.pointer, pointer, nil, nil, 0, nil, nil)
    precondition(done == 1, "libcrypto cannot write a key")
    return String(decoding: PEM.drain(output), as: UTF8.self)
  }

  /// The public half as an uncompressed point.
  var x963: [UInt8] {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = unsafe EVP_PKEY_get1_encoded_public_key(pointer, &bytes)
    defer { unsafe cossl_free(bytes) }
    guard let start = unsafe bytes, count > 0 else { fatalError("libcrypto cannot write a point") }
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
  }

  /// An ECDSA signature over `digest`, DER.
  func sign(_ digest: SHA256Digest) -> [UInt8] {
    let context = unsafe Owned(allocated: EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil), EVP_PKEY_CTX_free)
    let digest = InlineArray<32, UInt8>(digest)
    let digestSpan = digest.span
    var signature = [UInt8](repeating: 0, count: 256)
    var count = signature.count
    let done = unsafe digestSpan.withUnsafeBufferPointer { digest in
      unsafe signature.withUnsafeMutableBufferPointer { signature in
        unsafe EVP_PKEY_sign_init(context.pointer) == 1
          && EVP_PKEY_sign(context.pointer, signature.baseAddress, &count, digest.baseAddress, digest.count) == 1
      }
    }
    precondition(done, "libcrypto cannot sign")
    signature.removeLast(signature.count - count)
    return signature
  }
}
