import CLinux

/// The kernel's reasons in words.
public enum KernelError {
  /// What `errno` stands for, such as `Address already in use`.
  public static func text(_ number: Int32) -> String { unsafe String(cString: strerror(number)) }

  /// The `errno` of a connection whose peer broke the protocol above the kernel's.
  public static let brokenProtocol = EPROTO

  /// Whether `errno` says that the process's user may not do that.
  public static func isDenied(_ number: Int32) -> Bool { number == EACCES }

  /// Whether `errno` says that there is no such file.
  public static func isAbsent(_ number: Int32) -> Bool { number == ENOENT }

  /// Whether `errno` says that this process or this machine has no descriptors or no memory left, which is nobody else's fault.
  public static func isShortage(_ number: Int32) -> Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) }
}
