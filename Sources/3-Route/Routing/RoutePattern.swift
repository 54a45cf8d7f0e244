/// What the gate does on a route (`gate` of proxy.yaml), the least first.
public enum RouteGate: Sendable, Comparable {
  /// It does not look.
  case off
  /// It looks, and passes on what it would refuse.
  case monitor
  /// It refuses.
  case enforce
}

/// What a request must have to be taken by one route.
public struct RoutePattern: Sendable, Equatable {
  /// In lower case, without port and final dot; nil takes every host.
  public let host: String?
  /// The path.
  public let path: PathPattern
  /// Case-sensitive; empty takes every method. `GET` takes `HEAD` too, which RFC 9110 section 9.3.2 defines as the same request.
  public let methods: [String]
  /// What the path may hold that an upstream might read in another way.
  public let allowedInPath: PathFeatures
  /// What the gate does with what the route takes: a path that can be read onto a route never gets in by one that is gated less.
  public let gate: RouteGate

  /// Whether the gate looks at what the route takes.
  public var isGated: Bool { gate != .off }

  /// A pattern; `host` is brought to lower case and loses a final dot.
  public init(host: String?, path: PathPattern, methods: [String], allowedInPath: PathFeatures, gate: RouteGate) {
    self.host = host.map(Self.normalised)
    self.path = path
    self.methods = methods
    self.allowedInPath = allowedInPath
    self.gate = gate
  }

  private static func normalised(_ host: String) -> String {
    let lowered = host.lowercased()
    return lowered.hasSuffix(".") ? String(lowered.dropLast()) : lowered
  }

  /// The methods that are taken, with `HEAD` where `GET` is; empty for all.
  var takenMethods: [String] {
    methods.contains("GET") && !methods.contains("HEAD") ? methods + ["HEAD"] : methods
  }

  /// Whether one of `earlier`, which come before it, takes every request that this pattern would: it is never reached then.
  public func isCovered(by earlier: [RoutePattern]) -> Bool {
    let covering = earlier.filter { $0.coversPath(of: self) }
    if covering.contains(where: \.methods.isEmpty) { return true }
    return !methods.isEmpty && Set(takenMethods).isSubset(of: covering.flatMap(\.takenMethods))
  }

  /// Whether every host and path of `other` is one of this pattern's.
  public func coversPath(of other: RoutePattern) -> Bool {
    (host == nil || host == other.host) && path.covers(other.path)
  }

  /// Whether this route, which is gated less, could let in by a wildcard what an upstream takes for a path of `other`: because it does not
  /// tell upper from lower case, or reads what `allow_in_path` lists in another way. The router compares each such path.
  func couldHide(_ other: RoutePattern) -> Bool {
    gate < other.gate && sharesRequests(with: other) && !path.isLiteralWhere(other.path)
      && (!allowedInPath.isEmpty || path.overlapsIgnoringCase(other.path))
  }

  /// Whether this route, which is gated less, takes by its own name, written in other letters, what an upstream that does not tell upper
  /// from lower case takes for a path of `other`: `/V1/open` beside `/v1/**`. Nothing but the configuration can mend that.
  public func isWrittenLike(_ other: RoutePattern) -> Bool {
    gate < other.gate && sharesRequests(with: other) && path.isLiteralWhere(other.path) && path.overlapsIgnoringCase(other.path)
      && zip(path.segments, other.path.segments).contains { mine, its in its != .any && mine != its }
  }

  /// Whether some host and method are taken by both.
  private func sharesRequests(with other: RoutePattern) -> Bool {
    (host == nil || other.host == nil || host == other.host)
      && (methods.isEmpty || other.methods.isEmpty || !Set(takenMethods).isDisjoint(with: other.takenMethods))
  }
}
