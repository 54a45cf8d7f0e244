import CCrashReport

/// What the process writes to standard error when a trap or a fault ends it: the signal, the requests that were being served, and a
/// backtrace.
public enum CrashReport {
  /// From now on SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE and SIGABRT are reported before they end the process.
  /// `program` is name and version. To be called once, on the main thread, before others exist.
  public static func install(program: String) { unsafe crash_report_install(program) }
}

/// A connection's place in the crash report: names the request that it serves, or none.
///
/// Taken, used and given back on one thread. Beginning and ending a request are a few stores each.
@safe
public struct ReportedRequest: ~Copyable {
  private let place: UnsafeMutablePointer<crash_place>

  /// A place that names no request yet. Where there is no memory for one, what it names is missing in the report.
  public init() { unsafe place = crash_place_take() }

  deinit { unsafe crash_place_give_back(place) }

  /// A request is served, with the identifier of these two halves; `high` is not 0.
  public func begin(_ high: UInt64, _ low: UInt64) { unsafe crash_place_enter(place, high, low) }

  /// Somebody before the gate had named it: the report shows this text, of which it keeps 128 bytes.
  public func rename(_ identifier: [UInt8]) { unsafe crash_place_set_name(place, identifier, identifier.count) }

  /// The request has ended.
  public func end() { unsafe crash_place_leave(place) }
}
