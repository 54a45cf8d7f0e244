public import EventLoop
public import Gate
public import Routing

extension GatePolicy.Mode {
  /// What the router needs to know of it.
  public var routeGate: RouteGate {
    switch self {
    case .enforce: .enforce
    case .monitor: .monitor
    case .off: .off
    }
  }
}

/// One entry of `routes:` in proxy.yaml, with every default filled in.
public struct RouteSettings: Sendable {
  /// What a request must have to take the route.
  public var pattern: RoutePattern
  /// The place of its upstream in the list of upstreams.
  public var upstream: Int
  /// What the gate demands.
  public var policy: GatePolicy
  /// What a route without a gate takes of a body (`gate.max_body`); nil for as much as comes, since it streams.
  public var openBodyBytesMax: Int?
  /// For the whole exchange with the upstream; nil sets no limit but the upstream's own.
  public var timeoutMilliseconds: Int?
  /// How often one address (IPv6: one /64) may send what no key is verified for (`rate.address`); nil for as often as it likes.
  public var addressRate: Rate?
  /// Whether clients may switch to WebSocket (`upgrade: [websocket]`).
  public var passesWebSocket = false

  /// A route.
  public init(pattern: RoutePattern, upstream: Int, policy: GatePolicy, timeoutMilliseconds: Int?) {
    self.pattern = pattern
    self.upstream = upstream
    self.policy = policy
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  /// How long a body may be that is streamed. A monitored route never answers for the gate.
  var streamedBodyBytesMax: Int {
    switch policy.mode {
    case .enforce: policy.bodyBytesMax
    case .monitor: .max
    case .off: openBodyBytesMax ?? .max
    }
  }

  /// How logs and metrics name the route: its host, if it asks for one, and its path as written.
  public var label: String { (pattern.host ?? "") + pattern.path.text }
}
