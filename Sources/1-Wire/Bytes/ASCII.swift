/// Comparisons of field names and tokens, which are ASCII and mostly case-insensitive (RFC 9110 section 5.1).
public enum ASCII {
  /// The lower-case form of a letter, any other byte unchanged.
  @inlinable
  public static func lowerCased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  /// a to z.
  @inlinable
  public static func isLowerCase(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }

  /// Whether `byte` is a decimal digit.
  @inlinable
  public static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}

extension Span where Element == UInt8 {
  /// Whether the bytes are `text`, byte for byte.
  @inlinable
  public func equals(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard self.count == count else { return false }
    for index in 0..<count where unsafe self[index] != text.utf8Start[index] { return false }
    return true
  }

  /// Whether the bytes are the beginning of `text`, or all of it.
  @inlinable
  public func isPrefix(of text: StaticString) -> Bool {
    guard count <= text.utf8CodeUnitCount else { return false }
    for index in indices where unsafe self[index] != text.utf8Start[index] { return false }
    return true
  }

  /// Whether the bytes are `lowerCase` when their letters are lowered; `lowerCase` must be in lower case.
  @inlinable
  public func equalsIgnoringCase(_ lowerCase: StaticString) -> Bool {
    guard count == lowerCase.utf8CodeUnitCount else { return false }
    // The text of a literal lives as long as the program.
    return equalsIgnoringCase(unsafe Span(_unsafeStart: lowerCase.utf8Start, count: count))
  }

  /// Whether the bytes are `other`, byte for byte.
  @inlinable
  public func equals(_ other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where self[index] != other[index] { return false }
    return true
  }
}

extension Array where Element == UInt8 {
  /// A copy of the bytes of a span.
  @inlinable
  public init(copying span: Span<UInt8>) {
    self = unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
  }
}
