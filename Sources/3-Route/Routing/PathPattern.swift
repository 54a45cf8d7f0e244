import Bytes

/// Why a text is no path pattern.
public enum PathPatternFailure: Error, Sendable, Equatable {
  /// It does not begin with a slash.
  case notAbsolute
  /// `*` beside other characters of a segment.
  case partialWildcard
  /// `**` before the last segment.
  case restNotLast
  /// `?`: a pattern has no query.
  case query
  /// No request with such a path would be let in.
  case ambiguous(PathAmbiguity)

  /// What is wrong, and the mend.
  public var message: String {
    switch self {
    case .notAbsolute: "a path begins with \"/\""
    case .partialWildcard: "\"*\" stands for a whole segment; write %2A for the character"
    case .restNotLast: "\"**\" stands only at the end, as \"/**\""
    case .query: "a path has no query; write %3F for a question mark"
    case .ambiguous(let ambiguity): "\(ambiguity.detail), and such requests are refused before they are routed"
    }
  }
}

/// The path of a route: literal segments, `*` for exactly one segment, `/**` at the end for the rest or nothing.
///
/// Segments are kept decoded, so that `é` and `%c3%a9` are one; a slash that was encoded is kept as ``encodedSlash``.
public struct PathPattern: Sendable, Hashable {
  /// One segment of a pattern.
  public enum Segment: Sendable, Hashable {
    /// These decoded bytes.
    case literal([UInt8])
    /// Any one segment.
    case any
  }

  /// What stands for an encoded slash inside a decoded segment: no path holds NUL.
  static let encodedSlash: UInt8 = 0

  /// As it was written.
  public let text: String
  /// Without the empty one behind a final slash.
  public let segments: [Segment]
  /// Whether more segments, or none, may follow (`/**`).
  public let acceptsRest: Bool
  /// What the literal segments hold that `allow_in_path` must list for the pattern ever to match.
  public let features: PathFeatures

  /// Reads a pattern as proxy.yaml has it.
  public init(_ text: String) throws(PathPatternFailure) {
    guard text.utf8.first == UInt8(ascii: "/") else { throw .notAbsolute }
    guard !text.utf8.contains(UInt8(ascii: "?")) else { throw .query }
    let target = Array(text.utf8)
    let path: RequestPath
    switch RequestPath.normalise(target.span) {
    case .path(let normal): path = normal
    case .ambiguous(let ambiguity): throw .ambiguous(ambiguity)
    }
    let normalForm = Array(copying: path.normalForm(in: target.span))
    let normal = normalForm.span
    var segments: [Segment] = []
    var acceptsRest = false
    var start = 1
    while start < normal.count {
      var end = start
      while end < normal.count && normal[end] != UInt8(ascii: "/") { end += 1 }
      if acceptsRest { throw .restNotLast }
      let segment = normal.extracting(start..<end)
      if segment.equals("**") {
        acceptsRest = true
      } else if segment.equals("*") {
        segments.append(.any)
      } else {
        for index in segment.indices where segment[index] == UInt8(ascii: "*") { throw .partialWildcard }
        segments.append(.literal(Self.matchingForm(segment)))
      }
      start = end + 1
    }
    if acceptsRest && normal[normal.count - 1] == UInt8(ascii: "/") { throw .restNotLast }
    self.text = text
    self.segments = segments
    self.acceptsRest = acceptsRest
    self.features = path.features
  }

  /// Decodes what lies between raw slashes.
  static func matchingForm(_ normalForm: Span<UInt8>) -> [UInt8] {
    var decoded = [UInt8]()
    decoded.reserveCapacity(normalForm.count)
    var index = 0
    while index < normalForm.count {
      let start = index
      let byte = RequestPath.nextDecoded(normalForm, &index)
      decoded.append(index - start == 3 && byte == UInt8(ascii: "/") ? encodedSlash : byte)
    }
    return decoded
  }
}
