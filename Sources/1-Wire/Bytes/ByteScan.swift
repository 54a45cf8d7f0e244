/// Eight bytes looked at as one word, each in its lane; a lane's answer is its high bit.
@usableFromInline
enum EightBytes {
  @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
  @inlinable static var highBits: UInt64 { 0x8080_8080_8080_8080 }

  /// The lanes that are zero, of which the first is right: a borrow reaches only lanes behind it.
  @inlinable
  static func zero(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & highBits }

  /// The lanes below `bound` (at most 0x80), of which the first is right, for the same reason.
  @inlinable
  static func below(_ bound: UInt8, _ word: UInt64) -> UInt64 { (word &- ones &* UInt64(bound)) & ~word & highBits }

  /// The lanes from `first` to `last`, both ASCII; every one is right.
  @inlinable
  static func within(_ first: UInt8, _ last: UInt8, _ word: UInt64) -> UInt64 {
    // No lane of seven bits carries into the next.
    let low = word & ~highBits
    let reachesFirst = low &+ ones &* UInt64(0x80 - first)
    let passesLast = low &+ ones &* UInt64(0x7F - last)
    return reachesFirst & ~passesLast & ~word & highBits
  }
}

extension Span where Element == UInt8 {
  /// The eight bytes from `index` on, which the caller knows to lie within the span; the first is the lowest.
  @inlinable
  @inline(__always)
  func eightBytes(at index: Int) -> UInt64 {
    UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
  }

  /// Offset of the first control (a byte below 0x20, or 0x7F) in `start..<end`, `end` when there is none.
  ///
  /// Eight bytes at a time: nearly every byte of a head is passed over here and looked at nowhere else.
  @inlinable
  public func firstControl(from start: Int, to end: Int) -> Int {
    precondition(start >= 0 && end <= count, "scanning beyond the bytes")
    var index = start
    while index &+ 8 <= end {
      let word = eightBytes(at: index)
      let hits = EightBytes.below(0x20, word) | EightBytes.zero(word ^ (EightBytes.ones &* 0x7F))
      if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < end {
      let byte = unsafe self[unchecked: index]
      if byte < 0x20 || byte == 0x7F { return index }
      index &+= 1
    }
    return end
  }

  /// Offset of the first byte in `start..<end` that is neither a letter, a digit nor a hyphen, `end` when there is none: a field's name
  /// is hardly ever made of anything else.
  @inlinable
  public func firstBeyondName(from start: Int, to end: Int) -> Int {
    precondition(start >= 0 && end <= count, "scanning beyond the bytes")
    let hyphen = UInt8(ascii: "-")
    var index = start
    while index &+ 8 <= end {
      let word = eightBytes(at: index)
      let letters = EightBytes.within(UInt8(ascii: "a"), UInt8(ascii: "z"), word | EightBytes.ones &* 0x20)
      let others = EightBytes.within(UInt8(ascii: "0"), UInt8(ascii: "9"), word) | EightBytes.within(hyphen, hyphen, word)
      let hits = ~(letters | others) & EightBytes.highBits
      if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < end {
      let byte = unsafe self[unchecked: index]
      guard (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == hyphen || ASCII.isDigit(byte) else { return index }
      index &+= 1
    }
    return end
  }

  /// Offset of the first byte at or behind `start` that ends a run of plain characters in a JSON string (RFC 8259 section 7): a quotation
  /// mark, a backslash or a control below 0x20; the number of bytes when there is none.
  @inlinable
  public func endOfPlainJSON(from start: Int) -> Int {
    precondition(start >= 0, "scanning before the bytes")
    let (quotationMark, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
    var index = start
    while index &+ 8 <= count {
      let word = eightBytes(at: index)
      let marks =
        EightBytes.zero(word ^ EightBytes.ones &* UInt64(quotationMark)) | EightBytes.zero(word ^ EightBytes.ones &* UInt64(backslash))
      let hits = EightBytes.below(0x20, word) | marks
      if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < count {
      let byte = unsafe self[unchecked: index]
      if byte < 0x20 || byte == quotationMark || byte == backslash { return index }
      index &+= 1
    }
    return index
  }

  /// Whether the bytes are `lowerCase` when their letters are lowered; `lowerCase` must be in lower case.
  @inlinable
  public func equalsIgnoringCase(_ lowerCase: Span<UInt8>) -> Bool {
    guard count == lowerCase.count else { return false }
    guard count >= 8 else {
      for index in 0..<count where ASCII.lowerCased(self[index]) != lowerCase[index] { return false }
      return true
    }
    var index = 0
    while true {
      let name = lowerCase.eightBytes(at: index)
      // Only the bit of the case may differ, and only in a letter.
      let letters = EightBytes.within(UInt8(ascii: "a"), UInt8(ascii: "z"), name)
      if (eightBytes(at: index) ^ name) & ~(letters >> 2) != 0 { return false }
      if index == count &- 8 { return true }
      // The last eight bytes may have been looked at in part.
      index = Swift.min(index &+ 8, count &- 8)
    }
  }
}
