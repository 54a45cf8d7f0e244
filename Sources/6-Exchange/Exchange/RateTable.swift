import EventLoop
import Synchronization

/// Token buckets by client network, shared by the workers so that a client has the whole rate on whichever worker its connections are.
///
/// The table is bounded: a network falls into one of its sets, and a set that is full forgets the bucket that will be full soonest. So
/// a flood from many networks costs a client at most its own record of having come, never its right to come.
final class RateTable: Sendable {
  private static let stripeCount = 64
  private static let setsPerStripe = 128
  private static let bucketsPerSet = 8
  /// Networks that are remembered at most.
  static let capacity = stripeCount * setsPerStripe * bucketsPerSet

  private struct Entry {
    var network: UInt64 = 0
    /// Which limit, and which kind of network.
    var scope: UInt32 = 0
    var bucket = TokenBucket()
  }

  /// A part of the table with a lock of its own; it takes memory once it is used.
  private final class Stripe: Sendable {
    let entries = Mutex([Entry]())
  }

  private let stripes = (0..<stripeCount).map { _ in Stripe() }

  /// Takes one from the bucket that `network` has for the limit `number`; else says how many nanoseconds to wait.
  func take(_ rate: Rate, of network: ClientNetwork, limit number: Int, now: Instant) -> UInt64? {
    let scope = UInt32(truncatingIfNeeded: number) << 1 | (network.isIPv4 ? 1 : 0)
    // The language's hash is keyed anew by every process: nobody can choose networks that fall into one set.
    var hasher = Hasher()
    hasher.combine(network.bits)
    hasher.combine(scope)
    let hash = UInt(bitPattern: hasher.finalize())
    let stripe = stripes[Int(hash % UInt(Self.stripeCount))]
    let first = Int(hash / UInt(Self.stripeCount) % UInt(Self.setsPerStripe)) * Self.bucketsPerSet
    return stripe.entries.withLock { entries in
      if entries.isEmpty { entries = Array(repeating: Entry(), count: Self.setsPerStripe * Self.bucketsPerSet) }
      var place = first
      for index in first..<first + Self.bucketsPerSet {
        if entries[index].network == network.bits && entries[index].scope == scope {
          return entries[index].bucket.take(rate, now: now)
        }
        if entries[index].bucket.fullAt < entries[place].bucket.fullAt { place = index }
      }
      entries[place] = Entry(network: network.bits, scope: scope)
      return entries[place].bucket.take(rate, now: now)
    }
  }
}
