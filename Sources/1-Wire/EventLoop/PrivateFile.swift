import CLinux

/// Why a file could not be written.
public struct FileFailure: Error, Sendable, Equatable {
  /// The kernel's errno.
  public let errno: Int32
}

/// Files with secrets in them: readable by their owner alone from their first byte on, and never half written.
public enum PrivateFile {
  /// Puts `bytes` at `path` with mode 0600: into a new file beside it first, which then takes the name.
  public static func write(_ bytes: Span<UInt8>, to path: String) throws(FileFailure) {
    let temporary = "\(path).\(UInt64.random(in: 0 ... .max)).new"
    let descriptor = unsafe clinux_create_private(temporary)
    guard descriptor >= 0 else { throw FileFailure(errno: clinux_errno()) }
    var error = writeAll(bytes, to: descriptor)
    if error == 0, fsync(descriptor) != 0 { error = clinux_errno() }
    _ = close(descriptor)
    if error == 0, unsafe rename(temporary, path) != 0 { error = clinux_errno() }
    guard error == 0 else {
      _ = unsafe unlink(temporary)
      throw FileFailure(errno: error)
    }
  }

  /// Writes everything, over as many calls as the kernel wants; the errno of the first failure, 0 when there was none.
  static func writeAll(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = unsafe CLinux.write(descriptor, bytes.baseAddress.unsafelyUnwrapped + written, bytes.count - written)
        if count >= 0 { written += count } else if clinux_errno() != EINTR { return clinux_errno() }
      }
      return 0
    }
  }
}

/// Standard error, for a command's complaints.
public enum StandardError {
  /// Writes `text` as it is. What cannot be written has nowhere else to go.
  public static func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = PrivateFile.writeAll(bytes.span, to: STDERR_FILENO)
  }
}
