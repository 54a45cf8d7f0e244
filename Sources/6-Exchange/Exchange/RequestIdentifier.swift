import Bytes
import Cryptography

/// Names one exchange in log, problem document and `X-Request-Id`: 32 hexadecimal digits, no two alike in practice.
struct RequestIdentifier {
  let high: UInt64
  let low: UInt64

  /// Appends the digits.
  func append(to queue: inout ByteQueue) {
    var digits = InlineArray<32, UInt8>(repeating: 0)
    for index in 0..<16 {
      let shift = UInt64(60 - 4 * index)
      digits[index] = Hexadecimal.digit(UInt8(truncatingIfNeeded: high >> shift & 15))
      digits[16 + index] = Hexadecimal.digit(UInt8(truncatingIfNeeded: low >> shift & 15))
    }
    queue.append(digits.span)
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
