/// How slowly a peer may move bytes: on the whole at this rate, once the grace is used up. Only the time counts that is spent waiting
/// for that peer, and what moved faster is credited for later.
struct MinimumRate {
  /// 0 asks for none.
  let bytesPerSecond: Int
  /// What a slow start, or a pause of the network, may cost.
  let graceMilliseconds: Int
  /// Whoever has earned so much, some 30 years, is not measured any more: no product overflows below.
  private static let endlessSeconds: UInt64 = 1_000_000_000

  /// Nanoseconds for which a peer may still be waited for, of whom so many bytes came in so much waiting; nil for as long as it likes.
  func patience(after byteCount: Int, waited nanoseconds: UInt64) -> UInt64? {
    guard bytesPerSecond > 0 else { return nil }
    let (seconds, rest) = UInt64(byteCount).quotientAndRemainder(dividingBy: UInt64(bytesPerSecond))
    guard seconds < Self.endlessSeconds else { return nil }
    let earned = seconds * 1_000_000_000 + rest * 1_000_000_000 / UInt64(bytesPerSecond)
    let allowed = earned + UInt64(graceMilliseconds) * 1_000_000
    return allowed > nanoseconds ? allowed - nanoseconds : 0
  }
}
