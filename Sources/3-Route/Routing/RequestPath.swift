public import Bytes

/// What became of a target's bytes.
public enum RequestPathOutcome: Sendable {
  /// It has one meaning.
  case path(RequestPath)
  /// 400 `path_ambiguous`.
  case ambiguous(PathAmbiguity)
}

/// The path and query of a request target, in the one form that is matched, bound and forwarded (config.md, "Routing").
///
/// In normal form unreserved characters stand for themselves and every other escape has upper-case digits; bytes that a path may not
/// hold raw (RFC 3986 section 3.3) are escaped. A path that comes in this form, as nearly all do, is not copied.
public struct RequestPath: Sendable {
  /// What an upstream might read in another way; the matched route must allow all of it.
  public let features: PathFeatures
  /// Whether the path holds an escape in its normal form.
  public let hasEscapes: Bool
  /// The path as it came: a range of the target.
  public let rawPath: ByteRange
  /// The query as it came, without `?`: a range of the target. Nil when there is none or it is empty.
  public let query: ByteRange?
  /// Whether the path came in normal form.
  public let isVerbatim: Bool
  /// The normal form, empty when the path came in it.
  private let normalised: [UInt8]

  init(features: PathFeatures, hasEscapes: Bool, rawPath: ByteRange, query: ByteRange?, normalised: [UInt8]?) {
    self.features = features
    self.hasEscapes = hasEscapes
    self.rawPath = rawPath
    self.query = query
    self.isVerbatim = normalised == nil
    self.normalised = normalised ?? []
  }

  /// Brings the path of an origin-form target (`/path?query`, RFC 9112 section 3.2.1) to its normal form, or says why it has none.
  public static func normalise(_ target: Span<UInt8>) -> RequestPathOutcome {
    if let end = plainPathEnd(target) {
      let query = queryRange(target, pathEnd: end)
      if let ambiguity = query.ambiguity { return .ambiguous(ambiguity) }
      let raw = ByteRange(from: 0, to: end)
      return .path(RequestPath(features: [], hasEscapes: false, rawPath: raw, query: query.range, normalised: nil))
    }
    var scanner = PathScanner()
    if let ambiguity = scanner.scan(target) { return .ambiguous(ambiguity) }
    let query = queryRange(target, pathEnd: scanner.end)
    if let ambiguity = query.ambiguity { return .ambiguous(ambiguity) }
    return .path(
      RequestPath(
        features: scanner.features, hasEscapes: scanner.hasEscapes, rawPath: ByteRange(from: 0, to: scanner.end),
        query: query.range, normalised: scanner.isVerbatim ? nil : scanner.output))
  }

  /// The path in normal form; `target` must be the bytes that the path was made from.
  @_lifetime(borrow self, copy target)
  public func normalForm(in target: Span<UInt8>) -> Span<UInt8> {
    isVerbatim ? target.bytes(at: rawPath) : normalised.span
  }

  /// The decoded byte at `index`, which moves behind it. A `%` without two digits stands for itself.
  static func nextDecoded(_ bytes: Span<UInt8>, _ index: inout Int) -> UInt8 {
    let byte = bytes[index]
    if byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = Hexadecimal.value(bytes[index + 1]),
      let low = Hexadecimal.value(bytes[index + 2])
    {
      index += 3
      return high << 4 | low
    }
    index += 1
    return byte
  }

  /// Where the path ends, if it holds nothing that needs a closer look; nil sends the caller to ``PathScanner``, which judges alike.
  private static func plainPathEnd(_ target: Span<UInt8>) -> Int? {
    guard target.count > 0, target[0] == UInt8(ascii: "/") else { return nil }
    var index = 1
    var segmentStart = 1
    while index < target.count {
      let byte = target[index]
      if byte == UInt8(ascii: "/") {
        if index == segmentStart { return nil }
        segmentStart = index + 1
      } else if byte == UInt8(ascii: ".") {
        // A segment that begins with a dot may be a dot segment.
        if index == segmentStart { return nil }
      } else if byte == UInt8(ascii: "?") {
        return index
      } else if !PathCharacter.isPlain(byte) {
        return nil
      }
      index += 1
    }
    return index
  }

  /// The query behind the path, and what is wrong with it.
  private static func queryRange(_ target: Span<UInt8>, pathEnd: Int) -> (range: ByteRange?, ambiguity: PathAmbiguity?) {
    guard pathEnd < target.count else { return (nil, nil) }
    let start = pathEnd + 1
    for index in start..<target.count {
      let byte = target[index]
      if byte == UInt8(ascii: "#") { return (nil, .fragment) }
      if byte &- 0x21 > 0x7E - 0x21 { return (nil, .query) }
    }
    // A lone `?` is no query (wire.md, client data).
    return (start == target.count ? nil : ByteRange(from: start, to: target.count), nil)
  }
}
