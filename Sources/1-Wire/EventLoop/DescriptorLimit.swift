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

  /// Descriptors are given out from the lowest that is free, so that one from here on says how many are in use. Half of them, and at
  /// most 8,192, are left for what the connections taken already may need: one to an upstream each, files, the store, health checks.
  static let acceptMax: Int32 = {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    let most = Int32(clamping: limit.rlim_cur)
    return most - min(most / 2, 8_192)
  }()
}
