import Bytes
import Cryptography

/// Names one exchange in log, problem document and `X-Request-Id`: 32 hexadecimal digits, no two alike in practice.
struct RequestIdentifier {
  let high: UInt64
  let low: UInt64

  /// Appends the digits.
  func append(to queue: inout ByteQueue) {
    for word in [high, low] {
      var shift: UInt64 = 64
      while shift > 0 {
        shift -= 4
        queue.append(Hexadecimal.digit(UInt8(truncatingIfNeeded: word >> shift & 15)))
      }
    }
  }

  /// The digits.
  var digits: [UInt8] {
    var queue = ByteQueue()
    append(to: &queue)
    return queue.copied()
  }
}

/// Makes the identifiers of one worker: random once, then counted, and scrambled so that they tell nothing about the load.
struct RequestIdentifierSource {
  private let high: UInt64
  private var counter: UInt64
  private let multiplier: UInt64

  init() {
    let random = SecureRandom.bytes(24)
    func word(_ start: Int) -> UInt64 { random[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    high = word(0)
    counter = word(8)
    // An odd multiplier permutes the 64-bit numbers: identifiers of one worker never repeat.
    multiplier = word(16) | 1
  }

  mutating func next() -> RequestIdentifier {
    counter &+= 1
    let product = counter &* multiplier
    return RequestIdentifier(high: high, low: product ^ product >> 32)
  }
}
