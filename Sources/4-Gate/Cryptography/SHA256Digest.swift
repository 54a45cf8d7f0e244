public import Bytes

/// 32 bytes made by SHA-256 or HMAC-SHA256: held in place, compared and hashed without an allocation.
public struct SHA256Digest: Sendable, Hashable {
  /// Size in bytes.
  public static let byteCount = 32

  @usableFromInline let storage: InlineArray<32, UInt8>

  /// The digest with these bytes.
  @inlinable
  public init(_ bytes: InlineArray<32, UInt8>) { storage = bytes }

  /// The digest whose 32 bytes are `bytes`; nil for any other length.
  public init?(_ bytes: Span<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    storage = InlineArray { bytes[$0] }
  }

  /// The digest whose 32 bytes are written in base64, in either alphabet, padded or not; nil for anything else.
  public init?(base64 text: Span<UInt8>) {
    var bytes = InlineArray<32, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    guard Base64.decode(text, filling: &span) else { return nil }
    storage = bytes
  }

  /// The byte at `index`, 0 to 31.
  @inlinable
  public subscript(index: Int) -> UInt8 { storage[index] }

  /// The 32 bytes, in place.
  @inlinable
  public var span: Span<UInt8> {
    @_lifetime(borrow self)
    get { storage.span }
  }

  /// A copy of the 32 bytes.
  public var bytes: [UInt8] { Array(copying: span) }

  /// Appends the 32 bytes to `queue`.
  public func append(to queue: inout ByteQueue) { queue.append(span) }

  /// Equality in a time that does not depend on the bytes.
  public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool {
    var difference: UInt64 = 0
    for place in stride(from: 0, to: byteCount, by: 8) { difference |= left.word(place) ^ right.word(place) }
    return difference == 0
  }

  /// Half of the bytes tell two digests apart as well as all.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(word(0))
    hasher.combine(word(8))
  }

  /// Eight bytes in the machine's order, from a `place` that is a multiple of 8 below 32.
  private func word(_ place: Int) -> UInt64 {
    unsafe storage.span.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
  }
}

extension InlineArray where Element == UInt8, count == 32 {
  /// The 32 bytes of a digest, in place.
  @inlinable
  public init(_ digest: SHA256Digest) { self = digest.storage }
}
