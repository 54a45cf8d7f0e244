import CLinux

/// How many files and sockets the process may have open.
public enum DescriptorLimit {
  /// Raises it to as many as the system lets the process have.
  public static func raise() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Descriptors are given out from the lowest that is free, so that one from here on says that the process comes near its limit: a
  /// quarter of it, and at most 1,024, is left for connections to upstreams and to the store, for files and for health checks.
  static let acceptMax: Int32 = {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    let most = Int32(clamping: limit.rlim_cur)
    return most - min(most / 4, 1_024)
  }()
}
