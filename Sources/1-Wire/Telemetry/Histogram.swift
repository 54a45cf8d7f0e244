import Synchronization

/// How long things took: counts in fixed buckets, written by one worker and read by a scrape.
public final class Histogram: Sendable {
  /// Upper bounds of the buckets in nanoseconds, from 0.25 ms to 10 s; what is longer counts in the last, unbounded one.
  public static let boundsNanoseconds: [UInt64] = [
    250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000,
    1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000,
  ]

  private let buckets = InlineArray<16, Atomic<UInt64>> { _ in Atomic(0) }
  private let sum = Atomic<UInt64>(0)

  /// A histogram of nothing.
  public init() {}

  /// Counts one duration.
  public func observe(nanoseconds: UInt64) {
    var bucket = 0
    while bucket < Self.boundsNanoseconds.count && nanoseconds > Self.boundsNanoseconds[bucket] { bucket += 1 }
    buckets[bucket].store(buckets[bucket].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    sum.store(sum.load(ordering: .relaxed) &+ nanoseconds, ordering: .relaxed)
  }

  /// The counts by bucket, not yet summed up, and the sum in nanoseconds; from any thread.
  public func snapshot() -> (buckets: [UInt64], sumNanoseconds: UInt64) {
    ((0..<16).map { buckets[$0].load(ordering: .relaxed) }, sum.load(ordering: .relaxed))
  }
}

/// A number that goes up and down, written by one worker.
public final class Gauge: Sendable {
  private let cell = Atomic<Int64>(0)

  /// A gauge at zero.
  public init() {}

  /// Raises or lowers it.
  public func add(_ amount: Int64) {
    cell.store(cell.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// Sets it.
  public func set(_ value: Int64) { cell.store(value, ordering: .relaxed) }

  /// The number now, from any thread.
  public var value: Int64 { cell.load(ordering: .relaxed) }
}
