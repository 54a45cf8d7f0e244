/// The classes of RFC 3986 that a path's characters fall into.
enum PathCharacter {
  /// Unreserved characters (section 2.3): an escape of one means the same as the character.
  @inline(always)
  static func isUnreserved(_ byte: UInt8) -> Bool {
    isMember(byte, low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
  }

  /// What a segment may hold raw (`pchar`, section 3.3) and every reader reads alike: not `%`, not `;`.
  @inline(always)
  static func isPlain(_ byte: UInt8) -> Bool {
    isMember(byte, low: 0x27FF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFF)
  }

  /// One bit for each of the 128 ASCII characters.
  @inline(always)
  private static func isMember(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
    byte < 64 ? low >> UInt64(byte) & 1 != 0 : byte < 128 && high >> UInt64(byte & 63) & 1 != 0
  }
}
