/// Why a request target is refused with `path_ambiguous` before any route is looked for (config.md, "Routing").
public enum PathAmbiguity: String, Sendable, CaseIterable {
  /// It does not begin with a slash.
  case notAbsolute = "the path does not begin with a slash"
  /// `.` or `..` in any coding, with parameters or without.
  case dotSegment = "the path has a dot segment"
  /// `//` in any coding, or a segment of nothing but parameters.
  case emptySegment = "the path has an empty segment"
  /// A control character, NUL or a space, raw or (but for the space) encoded.
  case control = "the path has a control character or a space"
  /// `\` itself; `%5c` is a feature.
  case backslash = "the path has a backslash"
  /// `%` without two hexadecimal digits.
  case invalidEscape = "the path has an invalid escape"
  /// Bytes that are no UTF-8 once decoded, overlong forms among them.
  case invalidUTF8 = "the path is not UTF-8"
  /// `#` in the path or in the query.
  case fragment = "the target has a fragment"
  /// The query holds something else than visible ASCII.
  case query = "the query has a character that is not visible ASCII"
  /// Escapes of escapes of escapes, deeper than anybody means.
  case nestedEscapes = "the path is encoded too many times"

  /// A sentence for the refusal's detail.
  public var detail: String { rawValue }
}
