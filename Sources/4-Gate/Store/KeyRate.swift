public import Cryptography
public import EventLoop

/// How often one key may pass a route; every gate over the same store counts in the same bucket.
public struct KeyRate: Sendable, Equatable {
  /// How often.
  public let rate: Rate
  /// Which bucket of the key: a digest of the route's name, the same on every gate that serves it.
  public let scope: SHA256Digest

  /// A rate for the route of this name.
  public init(_ rate: Rate, route: String) {
    self.rate = rate
    scope = SHA256.digest(Array(route.utf8).span)
  }

  /// From one time to the next, in microseconds, in which the script counts: a double holds them exactly.
  var intervalMicroseconds: Int { max(1, Int(rate.intervalNanoseconds / 1_000)) }
}
