import CLinux

/// The end of the process.
public enum ProcessEnd {
  /// Ends it at once with the exit code `code`, once what was printed is written.
  ///
  /// exit(3) would take the libraries apart first, libcrypto above all, under threads that still use them: they crash then.
  public static func now(_ code: Int32) -> Never {
    _ = fflush(nil)
    _exit(code)
  }
}
