public import Bytes
import CLinux

/// A file without a name, for a body too large to be held in memory: it is gone with its descriptor, whatever becomes of the process.
///
/// Reads and writes block; they go to the page cache, as nginx's do.
public final class TemporaryFile {
  private let descriptor: Int32

  /// Opens one in `folder`. Throws the kernel's errno.
  public init(folder: String) throws(SocketFailure) {
    descriptor = unsafe clinux_open_unnamed(folder)
    guard descriptor >= 0 else { throw .failed(clinux_errno()) }
  }

  deinit { close(descriptor) }

  /// Writes `bytes` at `offset`; false when the disk is full or fails.
  public func write(_ bytes: Span<UInt8>, at offset: Int) -> Bool {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes {
        unsafe pwrite(descriptor, $0.baseAddress.unsafelyUnwrapped + written, bytes.count - written, offset + written)
      }
      if count > 0 { written += count } else if clinux_errno() != EINTR { return false }
    }
    return true
  }

  /// Appends up to `count` bytes from `offset` on to `queue`; false when fewer are there or the disk fails.
  public func read(_ count: Int, at offset: Int, into queue: inout ByteQueue) -> Bool {
    var left = count
    while left > 0 {
      let wanted = left
      let got = unsafe queue.appendFilling(minimum: wanted) { buffer in
        unsafe pread(descriptor, buffer.baseAddress, min(buffer.count, wanted), offset + count - wanted)
      }
      if got > 0 { left -= got } else if got == 0 || clinux_errno() != EINTR { return false }
    }
    return true
  }
}
