import AppAttest
import Cryptography
import Exchange
import Gate
import Routing
import Store
import Upstream

/// A configuration, or what is wrong with it, for programs: what `attestgate check --json` prints. No secret is in it.
public struct ConfigurationReport: Encodable {
  private var file: String
  private var valid: Bool
  private var problems: [Remark] = []
  private var warnings: [Remark] = []
  private var workers: Int?
  private var listeners: [String]?
  private var admin: String?
  private var store: String?
  private var apps: [App]?
  private var upstreams: [Upstream]?
  private var routes: [Route]?

  private struct Remark: Encodable {
    var line: Int
    var column: Int
    var path: String
    var message: String

    init(_ problem: ConfigurationProblem) {
      line = problem.line
      column = problem.column
      path = problem.path
      message = problem.message
    }
  }

  private struct App: Encodable {
    var app: String
    var environments: [String]
    var trust_roots: [String]
  }

  private struct Upstream: Encodable {
    var name: String
    var servers: [String]
    var balance: String
    /// Nil when they are not checked.
    var health: Health?
  }

  private struct Health: Encodable {
    /// Nil where a connection is answer enough.
    var path: String?
    var interval_ms: Int
    var timeout_ms: Int
    var healthy: Int
    var unhealthy: Int
    var status: [Int]
  }

  private struct Route: Encodable {
    var host: String?
    var path: String
    /// Nil for any.
    var methods: [String]?
    var allow_in_path: [String]
    var upstream: String
    var upgrade: [String]
    var gate: RouteGate
  }

  private struct RouteGate: Encodable {
    var mode: String
    var apps: [String: [String]]?
    var bind: [String]?
    var query: String?
    var path_form: String?
    var client_data: String?
    var key_id: String?
    /// Nil for a strict counter.
    var counter_window: Int?
    var max_body: Int?
    var on_store_failure: String?
  }

  /// What is wrong with a file that does not load.
  public init(file: String, problems: [ConfigurationProblem]) {
    self.file = file
    valid = false
    self.problems = problems.map(Remark.init)
  }

  /// What a file means.
  public init(_ configuration: Configuration) {
    file = configuration.file
    valid = true
    warnings = configuration.warnings.map(Remark.init)
    workers = configuration.workerCount
    listeners = configuration.listeners.map(\.bind.description)
    admin = configuration.admin?.description
    store = configuration.store.summary
    apps = configuration.apps.map { app in
      App(app: app.identity.description, environments: app.environmentNames, trust_roots: app.trustRoots.map(\.subject))
    }
    upstreams = configuration.upstreams.map { upstream in
      Upstream(
        name: upstream.name, servers: upstream.servers.map(\.url), balance: upstream.balance.rawValue,
        health: upstream.health.map(Self.health))
    }
    routes = configuration.routes.map { route in
      let pattern = route.pattern
      return Route(
        host: pattern.host, path: pattern.path.text, methods: pattern.methods.isEmpty ? nil : pattern.methods,
        allow_in_path: pattern.allowedInPath.names, upstream: configuration.upstreams[route.upstream].name,
        upgrade: route.passesWebSocket ? ["websocket"] : [], gate: Self.gate(route.policy))
    }
  }

  private static func health(_ check: HealthCheck) -> Health {
    Health(
      path: check.path, interval_ms: check.intervalMilliseconds, timeout_ms: check.timeoutMilliseconds, healthy: check.healthyCount,
      unhealthy: check.unhealthyCount, status: [check.statuses.lowerBound, check.statuses.upperBound])
  }

  private static func gate(_ policy: GatePolicy) -> RouteGate {
    var gate = RouteGate(mode: policy.mode.rawValue)
    guard policy.mode != .off else { return gate }
    gate.apps = policy.apps.mapValues { $0.map(\.rawValue).sorted() }
    gate.bind = policy.bindingNames
    gate.query = policy.bindsQuery ? "bound" : "unbound"
    gate.path_form = policy.pathForm.rawValue
    gate.client_data = policy.clientData.rawValue
    gate.key_id = policy.requiresKeyID ? "required" : "optional"
    if case .window(let size) = policy.counter { gate.counter_window = size }
    gate.max_body = policy.bodyBytesMax
    gate.on_store_failure = policy.admitsOnStoreFailure ? "allow" : "reject"
    return gate
  }
}
