public import EventLoop
import Gate
import HTTP
import Routing
import Store
public import Telemetry
public import Upstream

/// What all exchanges of one worker use. Confined to the worker.
final class WorkerContext {
  let loop: EventLoop
  let site: Site
  let router: Router
  let routes: [ServedRoute]
  let upstreams: [UpstreamGroup]
  /// In the order of the site's listeners.
  let listeners: [ServedListener]
  let gate: Gate
  let challenges: ChallengeEndpoint
  let enrolments: EnrolmentEndpoint
  let endpointPaths: EndpointPaths
  let metrics: WorkerMetrics
  let noRouteMetrics: RouteMetrics
  let endpointMetrics: RouteMetrics
  let accessLog: AccessLog
  let handshakeLog: HandshakeLog
  let limits: SharedLimits
  /// How many connections each listener has, in their order.
  let connectionLimits: [ConnectionLimit]
  private var identifiers = RequestIdentifierSource()
  private var lastDate = HTTPDate(unixSeconds: 0)
  private var dateUntil = Instant(nanoseconds: 0)

  /// `previous` is what the worker served before: upstreams that stay keep their connections.
  init(
    loop: EventLoop, number: Int, site: Site, services: WorkerServices, store: any Store, registry: MetricRegistry,
    previous: WorkerContext? = nil
  ) {
    self.loop = loop
    self.site = site
    router = Router(site.routes.map(\.pattern))
    let upstreams = services.upstreams.map { servers in
      previous?.upstreams.first { $0.isOf(servers) }
        ?? UpstreamGroup(
          servers, share: WorkerShare(number: number, of: site.workerCount), loop: loop,
          metrics: UpstreamMetrics(registry: registry, upstream: servers.settings.name))
    }
    self.upstreams = upstreams
    routes = site.routes.map { route in
      ServedRoute(
        route, upstream: upstreams[route.upstream], metrics: RouteMetrics(registry: registry, route: route.label),
        rateNumber: services.limits.numberOfRoute(route))
    }
    gate = Gate(settings: site.gate, store: store)
    challenges = ChallengeEndpoint(settings: site.gate, store: store)
    enrolments = EnrolmentEndpoint(settings: site.gate, store: store, background: services.verifier)
    endpointPaths = EndpointPaths(site.endpoints)
    listeners = site.listeners.enumerated().map { index, settings in
      ServedListener(settings, site: site, certificates: services.certificates.isEmpty ? nil : services.certificates[index])
    }
    metrics = previous?.metrics ?? WorkerMetrics(registry: registry)
    noRouteMetrics = RouteMetrics(registry: registry, route: "none")
    endpointMetrics = RouteMetrics(registry: registry, route: "endpoints")
    accessLog = previous?.accessLog ?? AccessLog(services.accessLog)
    handshakeLog = previous?.handshakeLog ?? HandshakeLog(services.diagnostics)
    limits = services.limits
    connectionLimits = site.listeners.map { services.limits.connections(of: $0) }
  }

  /// The route of a request. Not inlined: where the context may change, the router would be copied with all that it holds.
  @inline(never)
  func match(host: Span<UInt8>, path: RequestPath, target: Span<UInt8>, method: Span<UInt8>) -> RouteMatch {
    router.match(host: host, path: path, target: target, method: method)
  }

  func nextIdentifier() -> RequestIdentifier { identifiers.next() }

  /// The `Date` of answers, made once a second.
  var date: HTTPDate {
    if dateUntil <= loop.now {
      lastDate = HTTPDate(unixSeconds: WallClock.unixSeconds)
      dateUntil = loop.now.advanced(byMilliseconds: 250)
    }
    return lastDate
  }
}

/// The endpoints' paths in the form in which they are compared.
struct EndpointPaths {
  let attestChallenge: [UInt8]
  let attestVerify: [UInt8]
  let assertChallenge: [UInt8]
  let enrols: Bool

  init(_ settings: EndpointSettings) {
    attestChallenge = Array(settings.attestChallenge.utf8)
    attestVerify = Array(settings.attestVerify.utf8)
    assertChallenge = Array(settings.assertChallenge.utf8)
    enrols = settings.enrols
  }
}

/// What the workers of a process share.
public struct WorkerServices: Sendable {
  /// The servers of the site's upstreams, in their order.
  public var upstreams: [UpstreamServers]
  /// Verifies attestations.
  public var verifier: BackgroundThread
  /// Takes access log lines.
  public var accessLog: LogWriter
  /// Tells the operator.
  public var diagnostics: Diagnostics
  /// What is counted for all workers together.
  public var limits: SharedLimits
  /// By listener, nil for those that speak plain HTTP; empty where all do.
  public var certificates: [ListenerCertificates?] = []

  /// Shared services.
  public init(
    upstreams: [UpstreamServers], verifier: BackgroundThread, accessLog: LogWriter, diagnostics: Diagnostics, limits: SharedLimits
  ) {
    self.upstreams = upstreams
    self.verifier = verifier
    self.accessLog = accessLog
    self.diagnostics = diagnostics
    self.limits = limits
  }
}
