import AppAttest
import EventLoop
import Fixtures
import Foundation
import Gate
import Routing
import Store
import Telemetry
import Testing
import Upstream

@testable import Exchange

/// One worker on loopback with a memory store, before one scripted upstream.
final class TestGate: Sendable {
  /// Where clients connect.
  let port: UInt16
  let worker: Worker
  private let folder: TemporaryFolder
  private let log: LogWriter

  private init(_ site: Site, folder: TemporaryFolder, diagnostics: Diagnostics, memory: MemoryWatch) async throws {
    self.folder = folder
    log = try LogWriter(.file(folder.file("access.log")))
    let listener = try ListeningSocket(SocketAddress(host: "127.0.0.1", port: 0)!)
    port = listener.address.port
    let services = WorkerServices(
      upstreams: site.upstreams.map { UpstreamServers($0, registry: MetricRegistry(), diagnostics: diagnostics) },
      verifier: BackgroundThread(name: "verifier", queueMax: 8), accessLog: log, diagnostics: diagnostics,
      limits: SharedLimits(memory: memory))
    worker = Worker(number: 0, site: site, services: services) { _ in MemoryStoreClient(MemoryStore()) }
    await worker.start([listener])
  }

  /// A connection to the worker.
  func connect(receiveBufferBytes: Int? = nil) throws -> RawConnection {
    try RawConnection(port: port, receiveBufferBytes: receiveBufferBytes)
  }

  /// One request on a connection of its own.
  func exchange(_ request: String) throws -> RawMessage { try connect().exchange(request) }

  /// The access log, once it has so many lines.
  func log(count: Int) throws -> [LogLine] {
    let isThere = eventually { folder.read("access.log").split(separator: "\n").count >= count }
    let text = folder.read("access.log")
    guard isThere else { throw FixtureFailure("the access log has not \(count) lines:\n\(text)") }
    return try text.split(separator: "\n").map { try LogLine(String($0)) }
  }

  /// The sum of the series of this family that have these labels; nil when there is none.
  func metric(_ family: String, _ labels: [String: String] = [:]) -> Int? {
    let wanted = labels.map { MetricLabel($0.key, $0.value) }
    var sum: Int?
    for series in worker.metrics.allSeries() where series.family.name == family && wanted.allSatisfy(series.labels.contains) {
      switch series.instrument {
      case .counter(let counter): sum = (sum ?? 0) + Int(counter.value)
      case .gauge(let gauge): sum = (sum ?? 0) + Int(gauge.value)
      case .histogram(let histogram): sum = (sum ?? 0) + Int(histogram.snapshot().buckets.reduce(0, +))
      }
    }
    return sum
  }

  /// How many open files without a name this gate has in its folder.
  var temporaryFileCount: Int {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let targets = descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    return targets.count { $0.hasPrefix(folder.path) && $0.hasSuffix("(deleted)") }
  }

  /// Whether the sum comes to be `value`: a request is counted a moment after its answer was sent.
  func counts(_ value: Int, _ family: String, _ labels: [String: String] = [:]) -> Bool {
    eventually { metric(family, labels) == value }
  }

  /// Drains the worker; then nothing may be left of any exchange.
  private func end() async {
    await worker.stopAccepting()
    await worker.drain(until: Instant.now.advanced(byMilliseconds: 5_000))
    #expect(await worker.connectionCount() == 0)
    for family in ["attestgate_connections", "attestgate_requests_in_flight", "attestgate_upstream_connections"] {
      #expect(metric(family) ?? 0 == 0, "\(family) is not zero when nothing is left")
    }
    worker.loop.stop()
    log.finish()
  }

  /// Starts upstream and worker, plays `body`, and holds that nothing is left behind and that everything sent upstream was strict HTTP/1.1.
  ///
  /// `site` has one listener, one upstream `api` and one open route to it, before `change`.
  static func run(
    script: @escaping ScriptedUpstream.Script = { try $0.answer("hello") }, upstreamPort: UInt16? = nil,
    memory: MemoryWatch = MemoryWatch(), _ change: (inout Site) throws -> Void = { _ in },
    _ body: (TestGate, ScriptedUpstream) async throws -> Void
  ) async throws {
    let upstream = try ScriptedUpstream(script)
    defer { upstream.stop() }
    let folder = try TemporaryFolder()
    let diagnostics = Diagnostics(try LogWriter(.file(folder.file("errors"))))
    var site = Site(
      listeners: [ListenerSettings(bind: BindAddress(host: "127.0.0.1", port: 0))], routes: [try .open("/**")],
      upstreams: [UpstreamSettings(name: "api", servers: [.init(host: "127.0.0.1", port: upstreamPort ?? upstream.port)])],
      gate: GateSettings(apps: []))
    site.temporaryFolder = folder.path
    try change(&site)
    let gate = try await TestGate(site, folder: folder, diagnostics: diagnostics, memory: memory)
    let result: Result<Void, any Error>
    do { result = .success(try await body(gate, upstream)) } catch { result = .failure(error) }
    await gate.end()
    try result.get()
    #expect(upstream.malformed.isEmpty, "what was sent upstream is no strict HTTP/1.1: \(upstream.malformed)")
  }
}

extension RouteSettings {
  /// A route to the upstream `api`.
  static func route(_ path: String, methods: [String] = [], _ change: (inout GatePolicy) -> Void) throws -> RouteSettings {
    var policy = GatePolicy()
    change(&policy)
    return RouteSettings(
      pattern: RoutePattern(host: nil, path: try PathPattern(path), methods: methods, allowedInPath: [], gate: policy.mode.routeGate),
      upstream: 0, policy: policy, timeoutMilliseconds: nil)
  }

  /// A route without a gate.
  static func open(_ path: String, methods: [String] = []) throws -> RouteSettings { try route(path, methods: methods) { $0.mode = .off } }
}

/// One line of the access log.
struct LogLine {
  let text: String
  let members: [String: Any]

  init(_ text: String) throws {
    self.text = text
    guard let members = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
      throw FixtureFailure("no object: \(text)")
    }
    self.members = members
  }

  /// A text member.
  subscript(_ name: String) -> String? { members[name] as? String }
  /// A number member.
  func number(_ name: String) -> Int? { members[name] as? Int }
}

/// The code in a problem document; nil when the answer is none.
func code(in answer: RawMessage) -> String? {
  guard answer.value("Content-Type") == "application/problem+json" else { return nil }
  return (try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])?["code"] as? String
}
