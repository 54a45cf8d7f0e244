import EventLoop
public import Exchange
import FoundationEssentials

/// The service manager, if one wants to know how the gate fares (sd_notify(3), sd_watchdog_enabled(3)).
public struct ServiceManager: Sendable {
  private let notification: ServiceNotification?
  private let watchdogMicroseconds: Int?

  /// The one that these environment variables name, or none.
  public init(_ environment: [String: String]) {
    notification = environment["NOTIFY_SOCKET"].flatMap { ServiceNotification(socket: $0) }
    let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == ProcessInfo.processInfo.processIdentifier } ?? true
    watchdogMicroseconds = isMeant ? environment["WATCHDOG_USEC"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } : nil
  }

  /// The gate serves, for the first time or after a reload.
  public func ready(_ status: String) {
    notification?.send("READY=1", "MAINPID=\(ProcessInfo.processInfo.processIdentifier)", "STATUS=\(status)")
  }

  /// The configuration is read again.
  public func reloading() { notification?.send("RELOADING=1", "MONOTONIC_USEC=\(Instant.now.nanoseconds / 1_000)", "STATUS=Reloading") }

  /// The gate drains, to end in so much time: it must not be ended before.
  public func stopping(withinMilliseconds milliseconds: Int) {
    notification?.send("STOPPING=1", "STATUS=Draining", "EXTEND_TIMEOUT_USEC=\((milliseconds + Self.endMilliseconds) * 1_000)")
  }

  /// For what comes after draining: log lines.
  private static let endMilliseconds = 5_000

  /// Another process has taken over: that is the service now.
  public func handedOver(to process: Int32) { notification?.send("MAINPID=\(process)") }

  /// Gives a sign of life twice in the time that the service manager waits for one, as long as every worker's loop turns.
  public func keepAlive(_ workers: [Worker]) {
    guard let notification, let watchdogMicroseconds else { return }
    // A thread of its own: what holds up the others of the process must not make its workers look dead.
    let loop = EventLoop()
    loop.start(name: "watchdog")
    Task(executorPreference: loop) {
      while true {
        // A loop that hangs does not answer, and there is no sign.
        for worker in workers { _ = await worker.connectionCount() }
        notification.send("WATCHDOG=1")
        // A time that nobody can mean is not to keep a core busy.
        try? await Task.sleep(for: .microseconds(max(watchdogMicroseconds / 2, 1_000)))
      }
    }
  }
}
