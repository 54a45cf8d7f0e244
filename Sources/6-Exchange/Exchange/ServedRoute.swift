import HTTP
import Upstream

/// A route in the form in which each request needs it.
final class ServedRoute {
  let label: String
  let settings: RouteSettings
  let upstream: UpstreamGroup
  let upstreamHost: UpstreamHost
  /// The upstream's `request_headers`.
  let requestChanges: FieldChanges
  /// The upstream's `response_headers`.
  let responseChanges: FieldChanges
  let metrics: RouteMetrics

  init(_ settings: RouteSettings, upstream: UpstreamGroup, metrics: RouteMetrics) {
    self.settings = settings
    self.upstream = upstream
    self.metrics = metrics
    label = settings.label
    let about = upstream.settings
    switch about.host {
    case .pass: upstreamHost = .client(otherwise: Array(about.servers[0].authority.utf8))
    case .upstream: upstreamHost = .addedByCaller
    case .literal(let host): upstreamHost = .literal(Array(host.utf8))
    }
    requestChanges = ServedListener.changes(set: about.requestFieldsSet.map { ($0.name, $0.value) }, remove: about.requestFieldsRemoved)
    responseChanges = ServedListener.changes(set: about.responseFieldsSet.map { ($0.name, $0.value) }, remove: about.responseFieldsRemoved)
  }
}
