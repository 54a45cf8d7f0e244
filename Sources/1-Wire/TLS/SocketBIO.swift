import COpenSSL
import EventLoop

/// How libssl reads and writes: through the socket, in its own words about what would block. One method table for all.
enum SocketBIO {
  // Made once, never changed, never freed.
  private nonisolated(unsafe) static let method: OpaquePointer? = {
    let method = unsafe BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket")
    _ = unsafe BIO_meth_set_write(method, write)
    _ = unsafe BIO_meth_set_read(method, read)
    _ = unsafe BIO_meth_set_ctrl(method, control)
    return unsafe method
  }()

  /// A BIO whose bytes are those of `session`, which outlives it.
  static func make(for session: TLSSession) -> OpaquePointer? {
    guard let bio = unsafe BIO_new(method) else { return nil }
    unsafe BIO_set_data(bio, Unmanaged.passUnretained(session).toOpaque())
    unsafe BIO_set_init(bio, 1)
    return unsafe bio
  }

  private static func session(of bio: OpaquePointer?) -> TLSSession? {
    unsafe BIO_get_data(bio).map { unsafe Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let read: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 = { bio, buffer, count in
    unsafe cossl_bio_forget_retry(bio)
    guard let session = unsafe session(of: bio), count > 0 else { return -1 }
    switch unsafe session.receive(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))) {
    case .bytes(let count): return Int32(count)
    case .wouldBlock:
      unsafe cossl_bio_retry_read(bio)
      return -1
    case .end: return 0
    case .failed: return -1
    }
  }

  private static let write: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = { bio, buffer, count in
    unsafe cossl_bio_forget_retry(bio)
    guard let session = unsafe session(of: bio), count > 0 else { return -1 }
    switch unsafe session.transmit(UnsafeRawBufferPointer(start: buffer, count: Int(count))) {
    case .bytes(let count): return Int32(count)
    case .wouldBlock:
      unsafe cossl_bio_retry_write(bio)
      return -1
    case .end, .failed: return -1
    }
  }

  private static let control: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = { bio, command, _, _ in
    switch command {
    case BIO_CTRL_FLUSH: 1
    // libssl asks after a read of 0 bytes.
    case BIO_CTRL_EOF: unsafe session(of: bio)?.hasEnded == true ? 1 : 0
    default: 0
    }
  }
}
