/// A place inside a head or another byte sequence that someone else owns: offsets, never pointers, so it stays true when the bytes move.
public struct ByteRange: Sendable, Equatable {
  /// Offset of the first byte.
  public var start: Int
  /// Length in bytes.
  public var count: Int

  /// A range of `count` bytes that begins at offset `start`.
  @inlinable
  public init(start: Int, count: Int) {
    self.start = start
    self.count = count
  }

  /// The range from `start` up to and without `end`.
  @inlinable
  public init(from start: Int, to end: Int) {
    self.start = start
    self.count = end - start
  }

  /// The empty range at offset 0.
  @inlinable public static var empty: ByteRange { ByteRange(start: 0, count: 0) }

  /// Offset behind the last byte.
  @inlinable public var end: Int { start + count }

  /// The same bytes in a sequence that begins `offset` bytes earlier.
  @inlinable
  public func moved(by offset: Int) -> ByteRange { ByteRange(start: start + offset, count: count) }

  /// Whether it holds no byte.
  @inlinable public var isEmpty: Bool { count == 0 }
}

extension Span where Element == UInt8 {
  /// The bytes at `range`; traps when the range lies outside, which is a defect of the parser that made it.
  @inlinable
  @_lifetime(copy self)
  public func bytes(at range: ByteRange) -> Span<UInt8> {
    extracting(range.start..<range.end)
  }
}
