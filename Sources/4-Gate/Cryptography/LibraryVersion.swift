import COpenSSL

/// Which libcrypto is loaded.
public enum LibraryVersion {
  /// Such as `3.0.17`.
  public static var text: String { unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
