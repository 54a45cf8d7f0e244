public import Bytes

/// 32 bytes made by SHA-256 or HMAC-SHA256: held in place, compared and hashed without an allocation.
public struct SHA256Digest: Sendable, Hashable {
  /// Size in bytes.
  public static let byteCount = 32

  // Big-endian words, so that the order of the words is the order of the bytes.
  private var word0: UInt64, word1: UInt64, word2: UInt64, word3: UInt64

  /// The digest whose 32 bytes are `bytes`; nil for any other length.
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    func word(_ start: Int) -> UInt64 {
      var word: UInt64 = 0
      for index in start..<start + 8 { word = word << 8 | UInt64(bytes[index]) }
      return word
    }
    word0 = word(0)
    word1 = word(8)
    word2 = word(16)
    word3 = word(24)
  }

  /// The digest with these bytes.
  public init(_ bytes: InlineArray<32, UInt8>) {
    func word(_ start: Int) -> UInt64 {
      var word: UInt64 = 0
      for index in start..<start + 8 { word = word << 8 | UInt64(bytes[index]) }
      return word
    }
    word0 = word(0)
    word1 = word(8)
    word2 = word(16)
    word3 = word(24)
  }

  /// The byte at `index`, 0 to 31.
  public subscript(index: Int) -> UInt8 {
    let word =
      switch index >> 3 {
      case 0: word0
      case 1: word1
      case 2: word2
      default: word3
      }
    precondition(index >= 0 && index < Self.byteCount)
    return UInt8(truncatingIfNeeded: word >> UInt64((7 - index & 7) * 8))
  }

  /// The 32 bytes.
  public var bytes: [UInt8] {
    Array(capacity: Self.byteCount) { output in
      for index in 0..<Self.byteCount { output.append(self[index]) }
    }
  }

  /// Appends the 32 bytes to `queue`.
  public func append(to queue: inout ByteQueue) {
    for index in 0..<Self.byteCount { queue.append(self[index]) }
  }

  /// Equality in a time that does not depend on the bytes.
  public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
    (left.word0 ^ right.word0) | (left.word1 ^ right.word1) | (left.word2 ^ right.word2) | (left.word3 ^ right.word3) == 0
  }
}

extension InlineArray where Element == UInt8, count == 32 {
  /// The 32 bytes of a digest, in place.
  public init(_ digest: SHA256Digest) {
    self.init { digest[$0] }
  }
}
