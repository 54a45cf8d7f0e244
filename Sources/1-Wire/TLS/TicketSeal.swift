import COpenSSL
import EventLoop

/// How libssl asks for the key of a ticket: AES-256-CBC and HMAC-SHA256 (RFC 5077 section 4).
enum TicketSeal {
  typealias Callback =
    @convention(c) (
      OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?, OpaquePointer?, OpaquePointer?, Int32
    ) -> Int32

  private static let nameBytes = 16
  private static let vectorBytes: Int32 = 16

  static let callback: Callback = { ssl, name, vector, cipher, code, seals in
    guard let name = unsafe name, let vector = unsafe vector, let keys = unsafe TLSSession.of(ssl)?.server?.tickets else { return -1 }
    return unsafe seals == 1 ? seal(keys, name, vector, cipher, code) : open(keys, name, vector, cipher, code)
  }

  private static func seal(
    _ keys: TicketKeys, _ name: UnsafeMutablePointer<UInt8>, _ vector: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
    _ code: OpaquePointer?
  ) -> Int32 {
    guard let key = keys.sealing(at: WallClock.unixSeconds), unsafe RAND_bytes(vector, vectorBytes) == 1 else { return -1 }
    unsafe name.update(from: key.name, count: nameBytes)
    guard unsafe EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipherKey, vector) == 1, unsafe setCode(code, key) else { return -1 }
    return 1
  }

  /// 0 for a ticket that is none of ours: a full handshake follows. 2 for one that is taken, and replaced.
  private static func open(
    _ keys: TicketKeys, _ name: UnsafeMutablePointer<UInt8>, _ vector: UnsafeMutablePointer<UInt8>, _ cipher: OpaquePointer?,
    _ code: OpaquePointer?
  ) -> Int32 {
    let name = unsafe Array(UnsafeBufferPointer(start: name, count: nameBytes))
    guard let (key, stillSeals) = keys.opening(name, at: WallClock.unixSeconds) else { return 0 }
    guard unsafe setCode(code, key), unsafe EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipherKey, vector) == 1 else { return -1 }
    return stillSeals ? 1 : 2
  }

  private static func setCode(_ code: OpaquePointer?, _ key: TicketKeys.Key) -> Bool {
    var codeKey = key.codeKey
    return unsafe codeKey.withUnsafeMutableBufferPointer { unsafe cossl_tls_set_ticket_code(code, $0.baseAddress, $0.count) } == 1
  }
}
