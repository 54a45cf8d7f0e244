import CCrashReport
import CLinux

/// Threads without a pool behind them.
package enum NativeThread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a detached thread. `name` shows in `ps` and `perf`, 15 bytes at most.
  package static func start(name: String, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    unsafe pthread_attr_setstacksize(&attributes, 8 << 20)
    defer { unsafe pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let box = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    let result = unsafe pthread_create(
      &thread, &attributes,
      { box in
        crash_report_prepare_thread()
        unsafe Unmanaged<Body>.fromOpaque(box.unsafelyUnwrapped).takeRetainedValue().run()
        return nil
      }, box)
    precondition(result == 0, "the kernel refused a thread")
    _ = unsafe clinux_name_thread(thread, String(name.prefix(15)))
  }
}
