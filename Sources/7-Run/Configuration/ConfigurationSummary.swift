import AppAttest
import Bytes
import Exchange
import Gate
import HTTP
import Routing
import Store
import TLS
import Upstream

/// A configuration for people: what is served where, the routes in the order in which they are tried, the warnings.
///
/// No secret is in it: neither passwords nor the values of header fields.
public struct ConfigurationSummary {
  private let configuration: Configuration

  /// The summary of a configuration.
  public init(_ configuration: Configuration) { self.configuration = configuration }

  /// Lines for a terminal, each with its line feed.
  public var text: String {
    let sections = [facts, Self.table(routeRows), warnings].filter { !$0.isEmpty }
    return sections.map { $0.map { "\($0)\n" }.joined() }.joined(separator: "\n")
  }

  private var facts: [String] {
    let endpoints = configuration.endpoints
    let enrolment = endpoints.enrols ? ["GET \(endpoints.attestChallenge)", "POST \(endpoints.attestVerify)"] : []
    var rows = [
      ["listeners", configuration.listeners.map(Self.listener).joined(separator: ", ")],
      ["admin", configuration.admin?.description ?? "none"],
      ["workers", "\(configuration.workerCount)"],
      ["store", configuration.store.summary],
      ["access log", Self.written(configuration.accessLog)],
      ["endpoints", (enrolment + ["GET \(endpoints.assertChallenge)"]).joined(separator: ", ")],
    ]
    for listener in configuration.listeners {
      for files in listener.tls?.files ?? [] { rows.append(["certificate", Self.certificate(files)]) }
    }
    for app in configuration.apps { rows.append(["app", "\(app.identity) (\(app.environmentNames.joined(separator: ", ")))"]) }
    for upstream in configuration.upstreams {
      rows.append(["upstream", "\(upstream.name): \(upstream.servers.map(\.url).joined(separator: ", "))\(Self.remarks(upstream))"])
    }
    return Self.table(rows)
  }

  private var routeRows: [[String]] {
    [["#", "HOST", "PATH", "METHODS", "UPSTREAM", "GATE"]]
      + configuration.routes.enumerated().map { index, route in
        let pattern = route.pattern
        let path = pattern.path.text + (pattern.allowedInPath.isEmpty ? "" : " + " + pattern.allowedInPath.names.joined(separator: ", "))
        return [
          "\(index)", pattern.host ?? "any", path, pattern.methods.isEmpty ? "any" : pattern.methods.joined(separator: ","),
          configuration.upstreams[route.upstream].name,
          (gate(route.policy) + (route.passesWebSocket ? ["websocket"] : [])).joined(separator: ", "),
        ]
      }
  }

  /// The mode, and everything that is not the default.
  private func gate(_ policy: GatePolicy) -> [String] {
    guard policy.mode != .off else { return ["off"] }
    var parts = [policy.mode.rawValue]
    if policy.apps.count < configuration.apps.count { parts += policy.apps.keys.sorted() }
    if policy.clientData == .body { parts.append("signed body only") }
    if policy.clientData == .json {
      if policy.binding != [.method, .path, .body] { parts.append("binds \(policy.bindingNames.joined(separator: " "))") }
      if !policy.bindsQuery { parts.append("query unbound") }
      if policy.pathForm == .encoded { parts.append("encoded path") }
    }
    if policy.requiresKeyID { parts.append("key id required") }
    if case .window(let size) = policy.counter { parts.append("counter window \(size)") }
    if policy.admitsOnStoreFailure { parts.append("admits without store") }
    return parts
  }

  private var warnings: [String] { configuration.warnings.map { "warning: \($0)" } }

  private static func listener(_ listener: ListenerSettings) -> String {
    let peers = listener.trustedPeers
    let trusted = peers.networks.map(\.description) + (peers.includesUnix ? ["unix"] : [])
    let tls = listener.tls.map(Self.remarks) ?? []
    let remarks =
      tls + (listener.expectsProxyHeader ? ["PROXY protocol"] : []) + (trusted.isEmpty ? [] : ["trusts " + trusted.joined(separator: " ")])
    return listener.bind.description + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
  }

  private static func remarks(_ tls: ListenerTLS) -> [String] {
    [tls.minimumVersion == .tls13 ? "TLS 1.3" : "TLS 1.2 and 1.3"] + (tls.clientAuthorityFile == nil ? [] : ["client certificates"])
  }

  /// For whom it is, of which kind, and until when it holds.
  private static func certificate(_ files: ListenerTLS.Files) -> String {
    guard let identity = try? ListenerCertificates.identity(files) else { return files.certificate }
    let names = identity.names.isEmpty ? "no name" : identity.names.joined(separator: ", ")
    let end = UTCTime.text(identity.notAfter).prefix { $0 != "T" }
    return "\(names): \(identity.keyKind.rawValue), until \(end) (\(files.certificate))"
  }

  /// How servers are chosen and checked, as far as it is not the default.
  private static func remarks(_ upstream: UpstreamSettings) -> String {
    var remarks: [String] = []
    if upstream.balance != .roundRobin { remarks.append(upstream.balance.rawValue.replacing("_", with: " ")) }
    if let health = upstream.health {
      remarks.append("\(health.question) every \(Quantity.durationText(health.intervalMilliseconds))")
    }
    return remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))"
  }

  private static func written(_ log: Configuration.AccessLog) -> String {
    switch log {
    case .standardOutput: "stdout"
    case .off: "off"
    case .file(let path): path
    }
  }

  /// Columns as wide as their widest cell.
  private static func table(_ rows: [[String]]) -> [String] {
    let widths = (0..<(rows.first?.count ?? 0)).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }
      let line = cells.joined(separator: "  ")
      return String(line[..<(line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex)])
    }
  }
}

extension Configuration.StoreSettings {
  /// Which store and where, without user and password.
  var summary: String {
    switch self {
    case .memory: "memory, gone at exit"
    case .redis(let settings):
      switch settings.endpoint {
      case .tcp(let host, let port): "Redis at \(host.contains(":") ? "[\(host)]" : host):\(port), database \(settings.database)"
      case .unix(let path): "Redis at unix:\(path), database \(settings.database)"
      }
    }
  }
}

extension Configuration.App {
  /// As proxy.yaml names them, sorted.
  var environmentNames: [String] { environments.map(\.rawValue).sorted() }
}

extension HealthCheck {
  /// What is asked, for people.
  var question: String { path.map { "checks \($0)" } ?? "checks the connection" }
}

extension UpstreamSettings.Server {
  /// As proxy.yaml writes it, with the port.
  var url: String { unixPath.map { "unix:\($0)" } ?? "\(usesTLS ? "https" : "http")://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
}

extension GatePolicy {
  /// As proxy.yaml names them.
  var bindingNames: [String] {
    let named: [(String, Binding)] = [("method", .method), ("path", .path), ("body", .body), ("host", .host)]
    return named.filter { binding.contains($0.1) }.map(\.0)
  }
}
