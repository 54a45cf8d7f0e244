import COpenSSL

/// Owns one object of libcrypto and frees it, so that no path through a function can forget to.
@safe
struct Owned: ~Copyable {
  /// Valid as long as this owner lives.
  let pointer: OpaquePointer
  private let free: (OpaquePointer?) -> Void

  /// Takes over `pointer`; nil when libcrypto gave none, because the bytes it was made from are malformed.
  init?(_ pointer: OpaquePointer?, _ free: @escaping (OpaquePointer?) -> Void) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe self.free = unsafe free
  }

  /// Takes over a new, empty object. libcrypto gives none only when memory is out, which nothing here could survive.
  init(allocated pointer: OpaquePointer?, _ free: @escaping (OpaquePointer?) -> Void) {
    guard let pointer = unsafe pointer else { fatalError("libcrypto has no memory") }
    unsafe self.pointer = unsafe pointer
    unsafe self.free = unsafe free
  }

  deinit { unsafe free(pointer) }
}

/// libcrypto's error queue, one a thread. TLS judges its calls by an empty one, so a failure that has become a value here must leave nothing behind.
enum ErrorQueue {
  static func clear() { ERR_clear_error() }
}
