import Gate
import HTTP
import Upstream

/// A route in the form in which each request needs it.
final class ServedRoute {
  let label: String
  let settings: RouteSettings
  /// What the gate demands.
  let policy: SharedPolicy
  let upstream: UpstreamGroup
  let upstreamHost: UpstreamHost
  /// The upstream's `request_headers`.
  let requestChanges: FieldChanges
  /// The upstream's `response_headers`.
  let responseChanges: FieldChanges
  /// What the gate adds of its own: not what `request_headers` sets or removes.
  let adds: AddedFields
  let metrics: RouteMetrics
  /// Under which number ``SharedLimits`` keep its rate by address.
  let rateNumber: Int

  init(_ settings: RouteSettings, upstream: UpstreamGroup, metrics: RouteMetrics, rateNumber: Int) {
    self.rateNumber = rateNumber
    self.settings = settings
    policy = SharedPolicy(settings.policy)
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
    adds = AddedFields(besides: requestChanges.names)
    responseChanges = ServedListener.changes(set: about.responseFieldsSet.map { ($0.name, $0.value) }, remove: about.responseFieldsRemoved)
  }
}

/// The fields about the client that the gate adds to each request.
struct AddedFields: OptionSet {
  let rawValue: UInt8

  static let forwardedFor = AddedFields(rawValue: 1)
  static let forwardedProto = AddedFields(rawValue: 2)
  static let forwardedHost = AddedFields(rawValue: 4)
  static let requestID = AddedFields(rawValue: 8)

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(besides names: FieldNameSet) {
    let all: [(String, AddedFields)] = [
      ("x-forwarded-for", .forwardedFor), ("x-forwarded-proto", .forwardedProto), ("x-forwarded-host", .forwardedHost),
      ("x-request-id", .requestID),
    ]
    self = all.reduce(into: []) { fields, field in
      if !names.contains(Array(field.0.utf8).span) { fields.insert(field.1) }
    }
  }
}
