import CLinux

/// The kernel's reasons in words.
public enum KernelError {
  /// What `errno` stands for, such as `Address already in use`.
  public static func text(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }
}
