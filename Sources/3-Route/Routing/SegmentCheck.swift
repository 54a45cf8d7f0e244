/// Follows the decoded characters of a path and finds segments that a reader may drop or climb by: empty ones, `.` and `..`,
/// each with parameters or without.
struct SegmentCheck {
  /// What is known of the segment so far: nothing yet, one dot, two dots, or a name.
  private enum Name { case empty, dot, dotDot, other }

  private var name = Name.empty
  private var isInParameters = false

  /// A character that separates no segments.
  mutating func character(_ byte: UInt8) -> PathAmbiguity? {
    if isInParameters { return nil }
    if byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") {
      // The path may end here for somebody, and `..` before it climbs.
      let found = end()
      name = .other
      return found
    }
    if byte == UInt8(ascii: ";") {
      isInParameters = true
      // `/;x/` is `//` for a reader that strips parameters.
      return verdict
    }
    switch (name, byte) {
    case (.empty, UInt8(ascii: ".")): name = .dot
    case (.dot, UInt8(ascii: ".")): name = .dotDot
    default: name = .other
    }
    return nil
  }

  /// A slash, or what some reader takes for one; not the path's first.
  mutating func separator() -> PathAmbiguity? {
    let found = isInParameters ? nil : verdict
    name = .empty
    isInParameters = false
    return found
  }

  /// The path's end: a final slash is not an empty segment.
  func end() -> PathAmbiguity? {
    if isInParameters || name == .empty { return nil }
    return verdict
  }

  private var verdict: PathAmbiguity? {
    switch name {
    case .empty: .emptySegment
    case .dot, .dotDot: .dotSegment
    case .other: nil
    }
  }
}
