import COpenSSL

/// Owns one object of libssl or libcrypto and frees it.
@safe
struct Owned: ~Copyable {
  /// Valid as long as this owner lives.
  let pointer: OpaquePointer
  private let free: (OpaquePointer?) -> Void

  /// Takes over `pointer`; nil when the library gave none.
  init?(_ pointer: OpaquePointer?, _ free: @escaping (OpaquePointer?) -> Void) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe self.free = unsafe free
  }

  deinit { unsafe free(pointer) }
}
