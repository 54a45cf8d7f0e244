import CLinux

/// A moment of the monotonic clock, in nanoseconds.
public struct Instant: Sendable, Comparable {
  /// Nanoseconds since the machine started.
  public var nanoseconds: UInt64

  /// A moment.
  @inlinable
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// The moment of this call; code on a loop reads ``EventLoop/now`` instead, which is taken once a turn.
  public static var now: Instant { Instant(nanoseconds: clinux_monotonic_nanoseconds()) }

  /// Later than any deadline.
  @inlinable public static var never: Instant { Instant(nanoseconds: .max) }

  /// The moment so many nanoseconds later.
  @inlinable
  public func advanced(byNanoseconds nanoseconds: UInt64) -> Instant {
    let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return overflow ? .never : Instant(nanoseconds: sum)
  }

  /// The moment so many milliseconds later.
  @inlinable
  public func advanced(byMilliseconds milliseconds: Int) -> Instant { advanced(byNanoseconds: UInt64(milliseconds) * 1_000_000) }

  /// Whether the left moment is the earlier one.
  @inlinable
  public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
}
