/// What a head may cost: refused as soon as it is exceeded, not at the head's end.
public struct HeadLimits: Sendable {
  /// Start line and fields with every CRLF, in bytes; more is 431.
  public var headBytesMax: Int
  /// The start line without its CRLF, in bytes; more is 414 (RFC 9112 section 3 asks for 8,000 at least).
  public var startLineBytesMax: Int
  /// Field lines; more is 431.
  public var fieldCountMax: Int

  /// The defaults are those of config.md.
  public init(headBytesMax: Int = 32 << 10, startLineBytesMax: Int = 8 << 10, fieldCountMax: Int = 100) {
    precondition(headBytesMax <= 16 << 20, "offsets of fields are kept in 32 bits")
    self.headBytesMax = headBytesMax
    self.startLineBytesMax = startLineBytesMax
    self.fieldCountMax = fieldCountMax
  }

  /// A method's name, in bytes.
  static let methodBytesMax = 32
  /// A field's name, in bytes; kept in 16 bits.
  static let fieldNameBytesMax = 256
  /// Options in all `Connection` fields together: each is compared with each field.
  static let connectionOptionsMax = 32
  /// Entries in all `X-Forwarded-For` fields together: more is a loop.
  static let forwardedForEntriesMax = 32
}
