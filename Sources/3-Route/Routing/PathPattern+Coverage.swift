extension PathPattern {
  /// Whether every path that `other` matches is matched by this pattern too: behind it, `other` can never match.
  public func covers(_ other: PathPattern) -> Bool {
    guard other.segments.count >= segments.count else { return false }
    guard acceptsRest || (other.segments.count == segments.count && !other.acceptsRest) else { return false }
    return zip(segments, other.segments).allSatisfy { mine, its in
      mine == .any || mine == its
    }
  }

  /// Whether some path may be matched by both, for an upstream that does not tell upper from lower case: `/GATED/a` falls through
  /// `/gated/**` into a pattern that overlaps with it.
  func overlapsIgnoringCase(_ other: PathPattern) -> Bool {
    let shared = min(segments.count, other.segments.count)
    guard segments.count == shared || other.acceptsRest else { return false }
    guard other.segments.count == shared || acceptsRest else { return false }
    return zip(segments, other.segments).allSatisfy { mine, its in
      guard case .literal(let left) = mine, case .literal(let right) = its else { return true }
      return CaseFolding.folded(left.span) == CaseFolding.folded(right.span)
    }
  }

  /// Whether the pattern has a literal wherever `other` has one: what it takes was not brought onto `other` by a wildcard.
  func isLiteralWhere(_ other: PathPattern) -> Bool {
    other.segments.enumerated().allSatisfy { index, its in
      its == .any || index < segments.count && segments[index] != .any
    }
  }
}
