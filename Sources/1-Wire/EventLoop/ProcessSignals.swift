import CLinux

/// POSIX signals, taken by the main thread alone.
public enum ProcessSignals {
  /// The signals that the gate acts on.
  public enum Received: Sendable {
    /// SIGTERM, SIGINT or SIGQUIT.
    case terminate
    /// SIGUSR1: the access log's file was moved away.
    case reopenLogs
    /// SIGHUP: the configuration is to be read again.
    case hangUp
    /// SIGUSR2: another process of the same program is to take over.
    case upgrade
  }

  private static func handled() -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in [SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2] { unsafe sigaddset(&set, signal) }
    return set
  }

  /// Blocks them in the calling thread and every thread it starts: call before any other thread exists. SIGPIPE and
  /// SIGXFSZ are ignored: that a client is gone, or a file as long as it may be, is seen where it is written to.
  public static func block() {
    var set = handled()
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    clinux_ignore(SIGPIPE)
    clinux_ignore(SIGXFSZ)
  }

  /// Blocks the calling thread until one of them comes.
  public static func wait() -> Received {
    var set = handled()
    while true {
      var number: Int32 = 0
      guard unsafe sigwait(&set, &number) == 0 else { continue }
      switch number {
      case SIGHUP: return .hangUp
      case SIGUSR1: return .reopenLogs
      case SIGUSR2: return .upgrade
      default: return .terminate
      }
    }
  }
}
