public import EventLoop

/// Where the gate has the time from, so that a test can judge real objects at the time they were made.
public struct GateClock {
  /// Seconds since 1970.
  public var unixSeconds: () -> Int
  /// For durations and deadlines.
  public var monotonic: () -> Instant

  /// A clock.
  public init(unixSeconds: @escaping () -> Int, monotonic: @escaping () -> Instant) {
    self.unixSeconds = unixSeconds
    self.monotonic = monotonic
  }

  /// The machine's.
  public static var system: GateClock {
    GateClock(unixSeconds: { WallClock.unixSeconds }, monotonic: { Instant.now })
  }
}
