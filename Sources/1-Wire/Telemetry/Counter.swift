import Synchronization

/// A number that one worker raises and a scrape reads.
public final class Counter: Sendable {
  private let cell = Atomic<UInt64>(0)

  /// A counter at zero.
  public init() {}

  /// Raises it. Only the owning worker writes, so a load and a store suffice: no locked instruction on the data path.
  public func add(_ amount: UInt64 = 1) {
    cell.store(cell.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
  }

  /// The number now, from any thread.
  public var value: UInt64 { cell.load(ordering: .relaxed) }
}
