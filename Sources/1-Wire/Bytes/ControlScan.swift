extension Span where Element == UInt8 {
  /// Offset of the first control (a byte below 0x20, or 0x7F) in `start..<end`, `end` when there is none.
  ///
  /// Eight bytes at a time: nearly every byte of a head is passed over here and looked at nowhere else.
  @inlinable
  public func firstControl(from start: Int, to end: Int) -> Int {
    precondition(start >= 0 && end <= count, "scanning beyond the bytes")
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highBits: UInt64 = 0x8080_8080_8080_8080
    var index = start
    while index &+ 8 <= end {
      // Eight bytes from `index` lie before `end`, which is within the span.
      let word = UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
      let deleted = word ^ (ones &* 0x7F)
      // A byte's high bit is set where it borrowed: below 0x20, or zero. A borrow reaches only bytes behind the first hit.
      let hits = ((word &- ones &* 0x20) & ~word | (deleted &- ones) & ~deleted) & highBits
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

  /// Offset of the first byte at or behind `start` that ends a run of plain characters in a JSON string (RFC 8259 section 7): a quotation
  /// mark, a backslash or a control below 0x20; the number of bytes when there is none.
  @inlinable
  public func endOfPlainJSON(from start: Int) -> Int {
    precondition(start >= 0, "scanning before the bytes")
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highBits: UInt64 = 0x8080_8080_8080_8080
    var index = start
    while index &+ 8 <= count {
      // Eight bytes from `index` lie within the span.
      let word = UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
      let quoted = word ^ (ones &* 0x22)
      let escaped = word ^ (ones &* 0x5C)
      // As above: a byte's high bit is set where it borrowed, and a borrow reaches only bytes behind the first hit.
      let hits = ((word &- ones &* 0x20) & ~word | (quoted &- ones) & ~quoted | (escaped &- ones) & ~escaped) & highBits
      if hits != 0 { return index &+ hits.trailingZeroBitCount >> 3 }
      index &+= 8
    }
    while index < count {
      let byte = unsafe self[unchecked: index]
      if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
      index &+= 1
    }
    return index
  }
}
