import EventLoop
public import Exchange
import FoundationEssentials
import Synchronization

/// The service manager, if one wants to know how the gate fares (sd_notify(3), sd_watchdog_enabled(3)).
///
/// The unit lets every process of the service speak (`NotifyAccess=all`), so that each must know whether it speaks for the service: one
/// that does not serve yet must not say that the service stops, and one that has handed over must not say that it lives.
public final class ServiceManager: Sendable {
  /// What this process is to the service.
  private enum Standing: Int, AtomicRepresentable {
    /// It has not said yet that it serves.
    case starting
    case service
    case handedOver
  }

  private let notification: ServiceNotification?
  private let watchdogMicroseconds: Int?
  private let standing = Atomic(Standing.starting)

  /// The one that these environment variables name, or none.
  public init(_ environment: [String: String]) {
    notification = environment["NOTIFY_SOCKET"].flatMap { ServiceNotification(socket: $0) }
    let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == ProcessInfo.processInfo.processIdentifier } ?? true
    watchdogMicroseconds = isMeant ? environment["WATCHDOG_USEC"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } : nil
  }

  /// The gate serves, for the first time or after a reload.
  public func ready(_ status: String) {
    standing.store(.service, ordering: .relaxed)
    notification?.send("READY=1", "MAINPID=\(ProcessInfo.processInfo.processIdentifier)", "STATUS=\(status)")
  }

  /// The configuration is read again.
  public func reloading() { notification?.send("RELOADING=1", "MONOTONIC_USEC=\(Instant.now.nanoseconds / 1_000)", "STATUS=Reloading") }

  /// The gate drains, to end in so much time: it must not be ended before. Nothing is said by a process that is not the service: systemd
  /// would end the one that is.
  public func stopping(withinMilliseconds milliseconds: Int) {
    guard standing.load(ordering: .relaxed) == .service else { return }
    notification?.send("STOPPING=1", "STATUS=Draining", "EXTEND_TIMEOUT_USEC=\((milliseconds + Self.endMilliseconds) * 1_000)")
  }

  /// For what comes after draining: log lines.
  private static let endMilliseconds = 5_000

  /// Another process has taken over: that is the service now, and gives the signs of life.
  public func handedOver(to process: Int32) {
    standing.store(.handedOver, ordering: .relaxed)
    notification?.send("MAINPID=\(process)")
  }

  /// Gives a sign of life twice in the time that the service manager waits for one, as long as every worker's loop turns and no other
  /// process has taken over.
  public func keepAlive(_ workers: [Worker]) {
    guard let notification, let watchdogMicroseconds else { return }
    // A thread of its own: what holds up the others of the process must not make its workers look dead.
    let loop = EventLoop()
    loop.start(name: "watchdog")
    Task(executorPreference: loop) {
      while true {
        // A loop that hangs does not answer, and there is no sign.
        for worker in workers { _ = await worker.connectionCount() }
        guard self.standing.load(ordering: .relaxed) != .handedOver else { return }
        notification.send("WATCHDOG=1")
        // A time that nobody can mean is not to keep a core busy.
        try? await Task.sleep(for: .microseconds(max(watchdogMicroseconds / 2, 1_000)))
      }
    }
  }
}
