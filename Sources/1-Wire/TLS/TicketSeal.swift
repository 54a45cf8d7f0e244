import COpenSSL
import EventLoop

/// How libssl asks for the key of a ticket: AES-256-CBC and HMAC-SHA256 (RFC 5077 section 4).
enum TicketSeal {
  typealias Bytes = UnsafeMutablePointer<UInt8>
  typealias Callback =
    @convention(c) (
      OpaquePointer?, Bytes?, Bytes?, OpaquePointer?, OpaquePointer?, Int32
    ) -> Int32

  private static let nameBytes = 16
  private static let vectorBytes: Int32 = 16
  // Found once: to find it takes libcrypto's locks. Never changed, never freed.
  private nonisolated(unsafe) static let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-256-CBC", nil)

  static let callback: Callback = { ssl, name, vector, context, code, seals in
    guard let name = unsafe name, let vector = unsafe vector, let keys = unsafe TLSSession.of(ssl)?.server?.tickets else { return -1 }
    return unsafe seals == 1 ? seal(keys, name, vector, context, code) : open(ssl, keys, name, vector, context, code)
  }

  private static func seal(
    _ keys: TicketKeys, _ name: Bytes, _ vector: Bytes, _ context: OpaquePointer?, _ code: OpaquePointer?
  ) -> Int32 {
    guard let key = keys.sealing(at: WallClock.unixSeconds), unsafe RAND_bytes(vector, vectorBytes) == 1 else { return -1 }
    unsafe name.update(from: key.name, count: nameBytes)
    guard unsafe setCode(code, key), unsafe EVP_EncryptInit_ex2(context, cipher, key.cipherKey, vector, nil) == 1 else {
      return -1
    }
    return 1
  }

  /// 0 for a ticket that is none of ours: a full handshake follows. 2 for one that is taken, and replaced.
  private static func open(
    _ ssl: OpaquePointer?, _ keys: TicketKeys, _ name: Bytes, _ vector: Bytes, _ context: OpaquePointer?, _ code: OpaquePointer?
  ) -> Int32 {
    let name = unsafe Array(UnsafeBufferPointer(start: name, count: nameBytes))
    guard let (key, stillSeals) = keys.opening(name, at: WallClock.unixSeconds) else { return 0 }
    guard unsafe setCode(code, key), unsafe EVP_DecryptInit_ex2(context, cipher, key.cipherKey, vector, nil) == 1 else {
      return -1
    }
    // A client of TLS 1.3 uses a ticket once (RFC 8446 appendix C.4): it gets the next.
    return unsafe stillSeals && SSL_version(ssl) == TLS1_2_VERSION ? 1 : 2
  }

  private static func setCode(_ code: OpaquePointer?, _ key: TicketKeys.Key) -> Bool {
    unsafe cossl_tls_set_ticket_code(code, key.codeKey, key.codeKey.count) == 1
  }
}
