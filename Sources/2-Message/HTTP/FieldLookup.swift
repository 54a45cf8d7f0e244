public import Bytes

/// What a field's value is.
public enum FieldLookup: Sendable, Equatable {
  /// There is no such field.
  case absent
  /// There is one, with its value there.
  case one(ByteRange)
  /// There are several.
  case repeated
}
