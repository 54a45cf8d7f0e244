public import Gate
public import Upstream

/// All that a worker serves: proxy.yaml with every default filled in, the same for every worker.
public struct Site: Sendable {
  /// `listeners:`.
  public var listeners: [ListenerSettings]
  /// `routes:`, in their order.
  public var routes: [RouteSettings]
  /// `upstreams:`.
  public var upstreams: [UpstreamSettings]
  /// What every route's gate shares.
  public var gate: GateSettings
  /// `endpoints:`.
  public var endpoints = EndpointSettings()
  /// Limits that cannot be counted for all workers together are divided among so many.
  public var workerCount = 1
  /// Where bodies beyond `body_memory` go.
  public var temporaryFolder = "/tmp"

  /// A site.
  public init(listeners: [ListenerSettings], routes: [RouteSettings], upstreams: [UpstreamSettings], gate: GateSettings) {
    self.listeners = listeners
    self.routes = routes
    self.upstreams = upstreams
    self.gate = gate
  }
}
