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
  /// Whether the gate checks what the route takes: a path that can be read onto such a route never gets in by another one.
  public let isGated: Bool

  /// A pattern; `host` is brought to lower case and loses a final dot.
  public init(host: String?, path: PathPattern, methods: [String], allowedInPath: PathFeatures, isGated: Bool) {
    self.host = host.map(Self.normalised)
    self.path = path
    self.methods = methods
    self.allowedInPath = allowedInPath
    self.isGated = isGated
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

  /// Whether a request might be taken by both if its path's letters were of another case, or its host another name of the same server.
  public func overlapsIgnoringCase(_ other: RoutePattern) -> Bool {
    (host == nil || other.host == nil || host == other.host) && path.overlapsIgnoringCase(other.path)
      && (methods.isEmpty || other.methods.isEmpty || !Set(takenMethods).isDisjoint(with: other.takenMethods))
  }
}
