/// Which counters of a key were accepted: the highest one and a bitmap of those below it (RFC 4303 section 3.4.3).
///
/// The bitmap is a ring as in RFC 6479: a counter's bit is at its value modulo the ring's size, so that nothing is shifted when the
/// highest one moves; only the blocks that it passes are cleared. One block more than the window holds makes clearing whole blocks
/// enough. ``RedisScripts/commit`` judges in the same way, byte for byte; a property test holds both against a set.
struct CounterWindow: Equatable {
  /// How far below the highest counter an accepted one is remembered: the largest window of config.md.
  static let counterCount = 1024
  /// Counters a block.
  static let blockCounters = 8
  /// Blocks, one byte each.
  static let byteCount = counterCount / blockCounters + 1

  /// What was found.
  enum Judgement: Equatable {
    case accepted
    /// Accepted before.
    case repeated
    /// Below what the rule still accepts.
    case outOfOrder
  }

  /// Zero before the first.
  private(set) var highest: UInt32 = 0
  private(set) var bitmap = [UInt8](repeating: 0, count: byteCount)

  /// Judges a counter, and remembers it when it is accepted.
  mutating func accept(_ counter: UInt32, rule: CounterRule) -> Judgement {
    // An assertion's counter is above zero (App Attest, verifying assertions, step 5); zero is the attestation's.
    guard counter > 0 else { return .outOfOrder }
    if counter > highest {
      clear(from: highest, to: counter)
      highest = counter
    } else {
      let age = Int(highest - counter)
      guard age < Self.counterCount else { return .outOfOrder }
      if isSet(counter) { return .repeated }
      guard case .window(let width) = rule, age < width else { return .outOfOrder }
    }
    bitmap[Self.block(counter)] |= Self.bit(counter)
    return .accepted
  }

  /// Clears the blocks behind that of `old`, up to that of `new`.
  private mutating func clear(from old: UInt32, to new: UInt32) {
    let first = Int(old) / Self.blockCounters
    let passed = min(Int(new) / Self.blockCounters - first, Self.byteCount)
    for step in 0..<passed { bitmap[(first + 1 + step) % Self.byteCount] = 0 }
  }

  private func isSet(_ counter: UInt32) -> Bool { bitmap[Self.block(counter)] & Self.bit(counter) != 0 }

  private static func block(_ counter: UInt32) -> Int { Int(counter) / blockCounters % byteCount }

  private static func bit(_ counter: UInt32) -> UInt8 { 1 << UInt8(counter % UInt32(blockCounters)) }
}
