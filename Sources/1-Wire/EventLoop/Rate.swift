/// How often something may happen: so many times in a period, and after a pause so many at once.
public struct Rate: Sendable, Hashable, CustomStringConvertible {
  /// What the number of a rate counts in.
  public enum Period: String, Sendable, CaseIterable {
    /// 1 s.
    case second = "s"
    /// 60 s.
    case minute = "m"
    /// 3,600 s.
    case hour = "h"

    var nanoseconds: UInt64 {
      switch self {
      case .second: 1_000_000_000
      case .minute: 60_000_000_000
      case .hour: 3_600_000_000_000
      }
    }
  }

  /// Times and bursts are at most this many, so that no product of them overflows.
  public static let countMax = 1_000_000

  /// Times in the period.
  public let count: Int
  /// The period.
  public let period: Period
  /// How many at once.
  public let burst: Int

  /// A rate; `burst` is as many as come in one period unless said otherwise. Both must be from 1 to ``countMax``.
  public init(_ count: Int, per period: Period, burst: Int? = nil) {
    let burst = burst ?? count
    precondition(1...Self.countMax ~= count && 1...Self.countMax ~= burst, "a rate beyond its bounds")
    self.count = count
    self.period = period
    self.burst = burst
  }

  /// From one time to the next, at the steady rate.
  public var intervalNanoseconds: UInt64 { period.nanoseconds / UInt64(count) }

  /// As proxy.yaml writes it.
  public var description: String { "\(count)/\(period.rawValue) burst \(burst)" }
}

/// A bucket that a ``Rate`` fills, kept as the one moment at which it will be full again: the generic cell rate algorithm.
///
/// A full bucket is as good as none, so whoever keeps many may forget those whose moment has passed.
public struct TokenBucket: Sendable {
  /// When it is full again, if nothing is taken meanwhile.
  public private(set) var fullAt: Instant

  /// A full bucket, or one that is full at that moment.
  public init(fullAt: Instant = Instant(nanoseconds: 0)) { self.fullAt = fullAt }

  /// Takes one, if there is one; else says how many nanoseconds to wait for it, and takes nothing.
  public mutating func take(_ rate: Rate, now: Instant) -> UInt64? {
    let interval = rate.intervalNanoseconds
    let slack = interval * UInt64(rate.burst - 1)
    let start = max(fullAt, now)
    if start.nanoseconds - now.nanoseconds > slack { return start.nanoseconds - now.nanoseconds - slack }
    fullAt = start.advanced(byNanoseconds: interval)
    return nil
  }
}
