import AppAttest
import CLinux
import Configuration
import EventLoop
import Exchange
import FoundationEssentials
import Gate
import Store
import TLS
import Telemetry
import Upstream

/// Opens what a configuration names; whatever cannot be opened is a ``StartFailure``.
enum GateParts {
  static func accessLog(_ target: Configuration.AccessLog, lost: Counter) throws(StartFailure) -> LogWriter {
    do {
      switch target {
      case .off: return try LogWriter(.off, lost: lost)
      case .standardOutput: return try LogWriter(.standardOutput, lost: lost)
      case .file(let path): return try LogWriter(.file(path), lost: lost)
      }
    } catch {
      throw StartFailure(message: "access_log: the file cannot be opened (\(KernelError.text(error.errno))); name one in a writable folder")
    }
  }

  /// A socket that listens at `bind`, which `key` of the configuration says: one of those that the process was started with, or a new one.
  static func listen(_ bind: BindAddress, _ key: String, _ inherited: inout InheritedSockets) throws(StartFailure) -> ListeningSocket {
    let address = try address(bind, key)
    if let socket = inherited.take(address, bind: bind.description) { return socket }
    return try open(address, bind, key, handedOver: inherited.bind(withPort: address.port))
  }

  /// A new socket that listens at `bind`, which `key` of the configuration says.
  static func listen(_ bind: BindAddress, _ key: String) throws(StartFailure) -> ListeningSocket { try open(address(bind, key), bind, key) }

  private static func address(_ bind: BindAddress, _ key: String) throws(StartFailure) -> SocketAddress {
    guard let address = bind.unixPath.map({ SocketAddress(unixPath: $0) }) ?? SocketAddress(host: bind.host, port: bind.port) else {
      throw StartFailure(message: "\(key): \(bind) is not an IPv4 or IPv6 address")
    }
    return address
  }

  /// `handedOver` is where a socket that the gate was given listens with the same port.
  private static func open(
    _ address: SocketAddress, _ bind: BindAddress, _ key: String, handedOver: String? = nil
  ) throws(StartFailure) -> ListeningSocket {
    do throws(SocketFailure) {
      return try ListeningSocket(address)
    } catch {
      guard case .failed(let number) = error else { throw StartFailure(message: "\(key): cannot listen on \(bind)") }
      let mend =
        switch number {
        case EADDRINUSE where bind.unixPath != nil: "another program answers there, or something lies there that is no socket; remove it"
        case ENOENT, ENOTDIR: "there is no such folder; create it"
        case EACCES where bind.unixPath != nil: "the folder must be writable for the gate"
        case EADDRINUSE where handedOver != nil:
          "a socket that was handed to the gate listens at \(handedOver ?? "") already: write that as bind, or stop whoever opened it"
        case EADDRINUSE:
          "another program listens there (ss -ltnp names it), or this gate at another address of the machine, which it gives up only at "
            + "its end; stop it or choose another port"
        case EACCES: "ports below 1024 need CAP_NET_BIND_SERVICE, which the package's unit gives, or a socket unit"
        case EADDRNOTAVAIL, EAFNOSUPPORT: "this machine has no such address"
        default: "the kernel refused"
        }
      throw StartFailure(message: "\(key): cannot listen on \(bind) (\(KernelError.text(number))): \(mend)")
    }
  }

  /// The certificates of listeners, in their order; nil for those that speak plain HTTP.
  static func certificates(
    _ listeners: [ListenerSettings], tickets: TicketKeys
  ) throws(StartFailure) -> [ListenerCertificates?] {
    var certificates: [ListenerCertificates?] = []
    for listener in listeners {
      do throws(TLSFailure) {
        certificates.append(try listener.tls.map { settings throws(TLSFailure) in try ListenerCertificates(settings, tickets: tickets) })
      } catch {
        throw StartFailure(message: "tls: \(error.reason)")
      }
    }
    return certificates
  }

  /// Metrics of the process as a whole.
  static func metrics() -> MetricRegistry {
    let registry = MetricRegistry()
    let build = MetricFamily("attestgate_build_info", .gauge, "The running version; always 1.")
    registry.gauge(build, [MetricLabel("version", Version.number)]).set(1)
    return registry
  }

  static func lostLines(of log: String, in registry: MetricRegistry) -> Counter {
    let family = MetricFamily("attestgate_log_lines_lost_total", .counter, "Lines that a log could not take, by log.")
    return registry.counter(family, [MetricLabel("log", log)])
  }
}

/// Makes each worker's way to the store: one Redis connection a worker, or a face of the one memory store.
struct StoreMaker: Sendable {
  private enum Kind: Sendable {
    case redis(RedisSettings)
    case memory(MemoryStore)
  }

  private let kind: Kind
  private let resolver: NameResolver

  init(_ settings: Configuration.StoreSettings, resolver: NameResolver) {
    self.resolver = resolver
    switch settings {
    case .redis(let settings): kind = .redis(settings)
    case .memory: kind = .memory(MemoryStore())
    }
  }

  func make(on loop: EventLoop) -> any Store {
    switch kind {
    case .redis(let settings): RedisStore(settings: settings, loop: loop, resolver: resolver)
    case .memory(let store): MemoryStoreClient(store)
    }
  }
}

extension Site {
  /// What of the configuration the workers serve.
  init(_ configuration: Configuration) {
    var gate = GateSettings(
      apps: configuration.apps.map { AttestedApp($0.identity, environments: $0.environments, trustRoots: $0.trustRoots) })
    gate.assertionChallengeSeconds = configuration.assertionChallengeSeconds
    gate.attestationChallengeSeconds = configuration.attestationChallengeSeconds
    self.init(
      listeners: configuration.listeners, routes: configuration.routes, upstreams: configuration.upstreams, gate: gate)
    endpoints = configuration.endpoints
    workerCount = configuration.workerCount
    temporaryFolder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
  }

  /// Whether no route can be served without the store.
  var needsStore: Bool { routes.allSatisfy { $0.policy.mode == .enforce && !$0.policy.admitsOnStoreFailure } }
}
