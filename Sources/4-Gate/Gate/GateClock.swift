public import EventLoop

/// Where the gate has the time from, so that a test can judge real objects at the time they were made.
public struct GateClock {
  private enum Source {
    case machine
    case given(unixSeconds: () -> Int, monotonic: () -> Instant)
  }

  private let source: Source

  /// A clock.
  public init(unixSeconds: @escaping () -> Int, monotonic: @escaping () -> Instant) {
    source = .given(unixSeconds: unixSeconds, monotonic: monotonic)
  }

  private init(_ source: Source) { self.source = source }

  /// The machine's.
  public static var system: GateClock { GateClock(.machine) }

  /// Seconds since 1970.
  public func unixSeconds() -> Int {
    switch source {
    case .machine: WallClock.unixSeconds
    case .given(let unixSeconds, _): unixSeconds()
    }
  }

  /// For durations and deadlines.
  public func monotonic() -> Instant {
    switch source {
    case .machine: Instant.now
    case .given(_, let monotonic): monotonic()
    }
  }
}
