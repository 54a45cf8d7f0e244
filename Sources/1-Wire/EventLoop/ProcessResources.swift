import CLinux

/// What the system must let the process have before it begins something that it cannot do without: a thread or an epoll instance that is
/// refused in the middle would be the end of the process.
public enum ProcessResources {
  /// Small: it is their number that is limited.
  private static let stackBytes = 64 << 10
  private static let triedMax = 4_096

  /// Throws the kernel's errno where it would refuse so many more threads, or descriptors, at once. They are taken, and given back.
  public static func demand(threads: Int, descriptors: Int) throws(ResourceFailure) {
    let error = clinux_try_resources(Int32(min(threads, triedMax)), Int32(min(descriptors, triedMax)), stackBytes)
    guard error == 0 else { throw ResourceFailure(errno: error) }
  }
}

/// The system lets the process have no more.
public struct ResourceFailure: Error, Sendable {
  /// The kernel's reason.
  public let errno: Int32

  /// Reason and mend.
  public var description: String {
    let mend =
      errno == EMFILE || errno == ENFILE
      ? "it may have no more files open: raise LimitNOFILE= of the unit, or ulimit -n"
      : "it may have no more threads: raise TasksMax= of the unit, the container's limit of processes, or ulimit -u"
    return "\(KernelError.text(errno)): \(mend)"
  }
}
