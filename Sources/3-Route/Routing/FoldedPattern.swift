import Bytes

/// A pattern as an upstream sees it that does not tell upper from lower case.
struct FoldedPattern: Sendable {
  /// Folded literals; nil for any one segment.
  private let segments: [[UInt8]?]
  private let acceptsRest: Bool

  init(_ pattern: PathPattern) {
    segments = pattern.segments.map { segment in
      switch segment {
      case .literal(let bytes): CaseFolding.folded(bytes.span)
      case .any: nil
      }
    }
    acceptsRest = pattern.acceptsRest
  }

  /// Whether a decoded path lies on it. Letters of ASCII are folded here; others must have been.
  func takes(_ path: Span<UInt8>) -> Bool {
    let end = path.count > 0 && path[path.count - 1] == UInt8(ascii: "/") ? path.count - 1 : path.count
    var position = 0
    for segment in segments {
      guard position < end else { return false }
      let start = position + 1
      position = start
      while position < end && path[position] != UInt8(ascii: "/") { position += 1 }
      if let segment, !Self.isEqual(segment, path, from: start, to: position) { return false }
    }
    return position == end || acceptsRest
  }

  private static func isEqual(_ folded: [UInt8], _ path: Span<UInt8>, from start: Int, to end: Int) -> Bool {
    guard folded.count == end - start else { return false }
    for offset in folded.indices where folded[offset] != ASCII.lowerCased(path[start + offset]) { return false }
    return true
  }
}
