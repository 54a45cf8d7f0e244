import Bytes

/// Which route a request takes.
public enum RouteMatch: Sendable, Equatable {
  /// The route at this place of the list.
  case route(Int)
  /// 405: paths matched, methods did not. What `Allow` lists.
  case methodNotAllowed(allow: String)
  /// 404.
  case none
  /// 400 `path_ambiguous`: the matched route does not allow these.
  case refusedFeature(PathFeatures)
  /// 400 `path_ambiguous`: read in another way, the path lies on another route that is gated.
  case readsOntoGatedRoute
}

/// The routes, compiled for matching: the first that takes host, path and method wins.
///
/// A path without escapes is matched in place, without an allocation. Escapes are matched by their meaning, so that two paths which
/// decode alike take one route; a slash that is encoded still separates no segments.
public struct Router: Sendable {
  /// How many different methods the routes may name together.
  public static let methodsMax = 63

  /// The literal bytes of every pattern, one behind the other.
  private var literals: [UInt8] = []
  /// What follows the literal beginning of a pattern.
  private var tails: [Tail] = []
  private var routes: [CompiledRoute] = []
  private var hosts: [[UInt8]] = []
  private var methods: [[UInt8]] = []
  private var methodWords: [UInt64] = []
  /// Routes that others could hide from an upstream that ignores case, as it sees them.
  private var hidden: [(route: Int, pattern: FoldedPattern)] = []

  /// One segment behind the first `*`: a range of ``literals``, or any segment.
  private struct Tail: Sendable {
    var literal: ByteRange?
  }

  private struct CompiledRoute: Sendable {
    /// An index of ``hosts``, -1 for any.
    var host: Int
    /// A bit a method of ``methods``; all for any.
    var methods: UInt64
    /// The beginning up to the first `*`, slashes included, without a final one: a range of ``literals``.
    var prefix: ByteRange
    /// The first bytes of the prefix behind its slash, packed, and which of the eight there are.
    var prefixWord: UInt64
    var prefixMask: UInt64
    /// A range of ``tails``.
    var tail: ByteRange
    var acceptsRest: Bool
    var allowedInPath: PathFeatures
    var isGated: Bool
    /// A range of ``hidden``: the routes whose paths this one could let in for an upstream that ignores case. Mostly empty.
    var hides = ByteRange.empty
  }

  /// Compiles the routes in their order. They must not name more than ``methodsMax`` methods.
  public init(_ patterns: [RoutePattern]) {
    for pattern in patterns { routes.append(compile(pattern)) }
    for (index, pattern) in patterns.enumerated() {
      let start = hidden.count
      for (other, gated) in patterns.enumerated() where pattern.couldHide(gated) { hidden.append((other, FoldedPattern(gated.path))) }
      routes[index].hides = ByteRange(from: start, to: hidden.count)
    }
  }

  /// The route of a request.
  ///
  /// - Parameters:
  ///   - host: the request's host as it came, with or without a port; empty when it has none.
  ///   - path: what ``RequestPath/normalise(_:)`` made of `target`.
  ///   - target: the bytes that `path` was made from.
  ///   - method: as it came.
  public func match(host: Span<UInt8>, path: RequestPath, target: Span<UInt8>, method: Span<UInt8>) -> RouteMatch {
    let hostIndex = hosts.isEmpty ? -1 : index(ofHost: host)
    let methodBit = bit(ofMethod: method)
    let normal = path.normalForm(in: target)
    if !path.hasEscapes && path.features.isEmpty {
      let index = first(host: hostIndex, path: normal, method: methodBit)
      guard index >= 0 else { return refusal(host: hostIndex, path: normal) }
      if routes[index].hides.count == 0 { return .route(index) }
      return isHidden(normal, by: index, matching: normal, host: hostIndex, method: methodBit) ? .readsOntoGatedRoute : .route(index)
    }
    let matchingForm = PathPattern.matchingForm(normal)
    let index = first(host: hostIndex, path: matchingForm.span, method: methodBit)
    guard index >= 0 else { return refusal(host: hostIndex, path: matchingForm.span) }
    let refused = path.features.subtracting(routes[index].allowedInPath)
    guard refused.isEmpty else { return .refusedFeature(refused) }
    // The route opted into what the path holds; that must not be a way around another route's gate.
    let readings = path.otherReadings(of: normal)
    for reading in readings {
      let other = first(host: hostIndex, path: reading.span, method: methodBit)
      if other >= 0 && other != index && routes[other].isGated { return .readsOntoGatedRoute }
    }
    if routes[index].hides.count == 0 { return .route(index) }
    for reading in readings.isEmpty ? [matchingForm] : readings {
      let folded = CaseFolding.folded(reading.span)
      if isHidden(folded.span, by: index, matching: matchingForm.span, host: hostIndex, method: methodBit) { return .readsOntoGatedRoute }
    }
    return .route(index)
  }

  /// Whether `reading`, folded but for ASCII, is the path of a route that is gated more than the one at `index`, which took `path` by a
  /// wildcard. Where that route takes the very path too, it stands behind, and the order of the routes has decided.
  private func isHidden(_ reading: Span<UInt8>, by index: Int, matching path: Span<UInt8>, host: Int, method: UInt64) -> Bool {
    for place in routes[index].hides.start..<routes[index].hides.end {
      let route = routes[hidden[place].route]
      guard route.methods & method != 0, route.host == -1 || route.host == host, hidden[place].pattern.takes(reading) else { continue }
      if !takes(route, path, Self.endWithoutFinalSlash(path)) { return true }
    }
    return false
  }

  // MARK: Matching

  /// The first route that takes all three, -1 for none.
  private func first(host: Int, path: Span<UInt8>, method: UInt64) -> Int {
    let end = Self.endWithoutFinalSlash(path)
    let word = Self.word(path, from: 1, to: end)
    for index in routes.indices {
      let route = routes[index]
      guard word & route.prefixMask == route.prefixWord, route.methods & method != 0, route.host == -1 || route.host == host else {
        continue
      }
      if takes(route, path, end) { return index }
    }
    return -1
  }

  private func takes(_ route: CompiledRoute, _ path: Span<UInt8>, _ end: Int) -> Bool {
    guard var position = skip(route.prefix, in: path, at: 0, end: end) else { return false }
    for index in route.tail.start..<route.tail.end {
      guard position < end else { return false }
      position += 1
      if let literal = tails[index].literal {
        guard let next = skip(literal, in: path, at: position, end: end) else { return false }
        position = next
      } else {
        while position < end && path[position] != UInt8(ascii: "/") { position += 1 }
      }
    }
    return position == end || route.acceptsRest
  }

  /// Where the path goes on behind the literal, which must end where a segment does; nil when it is not there.
  private func skip(_ literal: ByteRange, in path: Span<UInt8>, at position: Int, end: Int) -> Int? {
    let next = position + literal.count
    guard next <= end, next == end || path[next] == UInt8(ascii: "/") else { return nil }
    // From the end: routes of one API begin alike.
    var offset = literal.count - 1
    while offset >= 0 {
      if literals[literal.start + offset] != path[position + offset] { return nil }
      offset -= 1
    }
    return next
  }

  /// 405 or 404.
  private func refusal(host: Int, path: Span<UInt8>) -> RouteMatch {
    let end = Self.endWithoutFinalSlash(path)
    var allowed: UInt64 = 0
    for route in routes where (route.host == -1 || route.host == host) && takes(route, path, end) { allowed |= route.methods }
    if allowed == 0 { return .none }
    let names = methods.indices.filter { allowed >> UInt64($0) & 1 != 0 }.map { String(decoding: methods[$0], as: UTF8.self) }
    return .methodNotAllowed(allow: names.joined(separator: ", "))
  }

  private static func endWithoutFinalSlash(_ path: Span<UInt8>) -> Int {
    path.count > 0 && path[path.count - 1] == UInt8(ascii: "/") ? path.count - 1 : path.count
  }

  /// Up to eight bytes from `start` on, the first in the lowest place.
  private static func word(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> UInt64 {
    var word: UInt64 = 0
    var index = min(end, start + 8) - 1
    while index >= start {
      word = word << 8 | UInt64(bytes[index])
      index -= 1
    }
    return word
  }

  // MARK: Hosts and methods

  /// -2 for a host that no route names.
  private func index(ofHost host: Span<UInt8>) -> Int {
    let name = host.extracting(0..<Self.hostEnd(host))
    for index in hosts.indices {
      let known = hosts[index]
      if name.equalsIgnoringCase(known.span) { return index }
    }
    return -2
  }

  /// Where the host's name ends: before its port, and before the dot of a fully qualified name.
  private static func hostEnd(_ host: Span<UInt8>) -> Int {
    var end = host.count
    while end > 0 && ASCII.isDigit(host[end - 1]) { end -= 1 }
    // Digits alone are the end of a name or of an IPv4 address; an IPv6 address ends with its bracket.
    end = end > 0 && host[end - 1] == UInt8(ascii: ":") ? end - 1 : host.count
    return end > 0 && host[end - 1] == UInt8(ascii: ".") ? end - 1 : end
  }

  /// The bit of a method; one that only routes for every method have when no route names it.
  private func bit(ofMethod method: Span<UInt8>) -> UInt64 {
    if method.count <= 8 {
      let word = Self.word(method, from: 0, to: method.count)
      for index in methodWords.indices where methodWords[index] == word { return 1 << UInt64(index) }
    } else {
      for index in methods.indices {
        let known = methods[index]
        if method.equals(known.span) { return 1 << UInt64(index) }
      }
    }
    return Self.unnamedMethod
  }

  /// A bit above those of the named methods.
  private static let unnamedMethod: UInt64 = 1 << 63

  // MARK: Compiling

  private mutating func compile(_ pattern: RoutePattern) -> CompiledRoute {
    var prefix: [UInt8] = []
    var rest = pattern.path.segments[...]
    while case .literal(let bytes)? = rest.first {
      prefix.append(UInt8(ascii: "/"))
      prefix += bytes
      rest = rest.dropFirst()
    }
    let tail = ByteRange(start: tails.count, count: rest.count)
    let prefixRange = intern(prefix)
    for segment in rest {
      switch segment {
      case .literal(let bytes): tails.append(Tail(literal: intern(bytes)))
      case .any: tails.append(Tail(literal: nil))
      }
    }
    let packed = min(8, max(0, prefix.count - 1))
    return CompiledRoute(
      host: pattern.host.map { index(adding: Array($0.utf8)) } ?? -1,
      methods: pattern.methods.isEmpty ? .max : mask(of: pattern.takenMethods),
      prefix: prefixRange,
      prefixWord: Self.word(prefix.span, from: 1, to: prefix.count),
      prefixMask: packed == 0 ? 0 : UInt64.max >> UInt64(64 - 8 * packed),
      tail: tail, acceptsRest: pattern.path.acceptsRest, allowedInPath: pattern.allowedInPath, isGated: pattern.isGated)
  }

  private mutating func intern(_ bytes: [UInt8]) -> ByteRange {
    let range = ByteRange(start: literals.count, count: bytes.count)
    literals += bytes
    return range
  }

  private mutating func index(adding host: [UInt8]) -> Int {
    if let index = hosts.firstIndex(of: host) { return index }
    hosts.append(host)
    return hosts.count - 1
  }

  private mutating func mask(of names: [String]) -> UInt64 {
    var mask: UInt64 = 0
    for name in names {
      let index: Int
      let bytes = Array(name.utf8)
      if let known = methods.firstIndex(of: bytes) {
        index = known
      } else {
        index = methods.count
        precondition(index < Self.methodsMax, "more methods than there are bits")
        methods.append(bytes)
        // A longer name is never looked up by its word.
        methodWords.append(bytes.count <= 8 ? Self.word(bytes.span, from: 0, to: bytes.count) : .max)
      }
      mask |= 1 << UInt64(index)
    }
    return mask
  }
}
