import COpenSSL

/// The two curves of App Attest: P-256 for devices, P-384 for the authority.
enum EllipticCurve {
  case p256
  case p384

  /// libcrypto's name.
  var name: String {
    switch self {
    case .p256: "prime256v1"
    case .p384: "secp384r1"
    }
  }

  /// The key with this uncompressed point; nil unless it is on the curve.
  func publicKey(x963: Span<UInt8>) -> Owned? {
    let context = unsafe Owned(allocated: EVP_PKEY_CTX_new_from_name(nil, "EC", nil), EVP_PKEY_CTX_free)
    let started = unsafe EVP_PKEY_fromdata_init(context.pointer)
    precondition(started == 1, "libcrypto has no elliptic curves")
    let key = unsafe x963.withUnsafeBufferPointer { unsafe cossl_public_key(context.pointer, name, $0.baseAddress, $0.count) }
    if unsafe key == nil { ErrorQueue.clear() }
    return unsafe Owned(key, EVP_PKEY_free)
  }

  /// Whether `key` is on this curve.
  func holds(_ key: OpaquePointer) -> Bool {
    var text = InlineArray<32, CChar>(repeating: 0)
    var buffer = text.mutableSpan
    let done = unsafe buffer.withUnsafeMutableBufferPointer { unsafe EVP_PKEY_get_group_name(key, $0.baseAddress, $0.count, nil) }
    guard done == 1 else {
      ErrorQueue.clear()
      return false
    }
    return unsafe buffer.withUnsafeBufferPointer { unsafe String(cString: $0.baseAddress.unsafelyUnwrapped) } == name
  }
}
