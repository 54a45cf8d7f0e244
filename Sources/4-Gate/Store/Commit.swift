public import AppAttest

/// One verified assertion, to be accepted or refused in one atomic step.
public struct Commit: Sendable {
  /// The key that signed.
  public var key: KeyIdentifier
  /// The assertion's counter.
  public var counter: UInt32
  /// The route's rule for it.
  public var rule: CounterRule
  /// The challenge that it uses up; nil for `client_data: body`.
  public var challenge: ChallengeMark?
  /// How often this key may pass this route; nil for as often as it likes.
  public var rate: KeyRate?
  /// Seconds since 1970.
  public var seenAt: Int

  /// A step to be judged.
  public init(key: KeyIdentifier, counter: UInt32, rule: CounterRule, challenge: ChallengeMark?, rate: KeyRate? = nil, seenAt: Int) {
    self.key = key
    self.counter = counter
    self.rule = rule
    self.challenge = challenge
    self.rate = rate
    self.seenAt = seenAt
  }
}

/// What *commit* found; anything but `accepted` changed nothing.
public enum CommitOutcome: Sendable, Equatable {
  /// Challenge used, counter stored. `previousCounter` is the highest one before.
  case accepted(previousCounter: UInt32)
  /// No such key: the worker drops its cache entry.
  case keyUnknown
  /// The key is revoked.
  case keyRevoked
  /// The challenge was used by other bytes.
  case challengeUsed
  /// These very bytes were accepted before.
  case alreadyAccepted
  /// The counter was accepted before.
  case counterRepeated
  /// The counter is below what the rule still accepts.
  case counterOutOfOrder
  /// All else would be accepted, but the key comes too often; it may come again after so many milliseconds.
  case rateLimited(milliseconds: Int)
}
