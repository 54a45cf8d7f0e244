public import EventLoop
public import TLS

/// One entry of `upstreams:` in proxy.yaml, with every default filled in.
public struct UpstreamSettings: Sendable, Equatable {
  /// Where one server listens.
  public struct Server: Sendable, Hashable {
    /// Host name or address, without brackets.
    public var host: String
    /// TCP port.
    public var port: UInt16
    /// The path of a Unix socket, which has neither host nor port.
    public var unixPath: String?
    /// Whether it is spoken to over TLS.
    public var usesTLS: Bool

    /// A server.
    public init(host: String, port: UInt16, usesTLS: Bool = false) {
      self.host = host
      self.port = port
      self.usesTLS = usesTLS
    }

    /// A server behind a Unix socket.
    public init(unixPath: String) {
      self.init(host: "localhost", port: 0)
      self.unixPath = unixPath
    }

    /// Host and port as a `Host` field has them; `localhost` where a Unix socket has no name.
    public var authority: String {
      if unixPath != nil { return host }
      return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Its one address for good; nil for a name, which is looked up.
    public var address: SocketAddress? {
      unixPath.map { SocketAddress(unixPath: $0) } ?? SocketAddress(host: host, port: port)
    }

    /// How logs name it: host and port, or `unix:/path`.
    public var name: String { unixPath.map { "unix:\($0)" } ?? authority }
  }

  /// Which server gets the next request.
  public enum Balance: String, Sendable, CaseIterable {
    /// One after the other.
    case roundRobin = "round_robin"
    /// Of two taken at random, the one that has fewer requests under way.
    case leastConnections = "least_connections"
  }

  /// Which `Host` the upstream sees.
  public enum HostForm: Sendable, Equatable {
    /// The client's.
    case pass
    /// The server's own name and port.
    case upstream
    /// This text.
    case literal(String)
  }

  /// A header field to set.
  public struct Field: Sendable, Equatable {
    /// As written.
    public var name: String
    /// As written.
    public var value: String

    /// A field.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Its name in proxy.yaml.
  public var name: String
  /// At least one.
  public var servers: [Server]
  /// Which of them gets the next request (`balance`).
  public var balance = Balance.roundRobin
  /// How they are asked whether they are well (`health`); nil when they are not.
  public var health: HealthCheck?
  /// How often the addresses of names are looked up anew (`resolve_interval`).
  public var resolveIntervalMilliseconds = 30_000
  /// How long a server that could not be reached is passed over.
  public var failurePauseMilliseconds = 10_000
  /// Whom servers with TLS are verified against, and what they are shown (`tls`); nil where no server uses TLS.
  public var tls: TLSClientIdentity?
  /// Which `Host` the upstream sees (`host`).
  public var host: HostForm = .pass
  /// For one server.
  public var connectTimeoutMilliseconds = 2_000
  /// Until the head of the answer.
  public var responseTimeoutMilliseconds = 30_000
  /// Between two bytes of the answer.
  public var idleTimeoutMilliseconds = 60_000
  /// Requests at once, divided among the workers (`max_concurrent`); nil for as many as come.
  public var requestsMax: Int?
  /// Requests that may wait for a place among those, divided among the workers (`queue`).
  public var queueMax = 0
  /// How long one may wait for it.
  public var queueTimeoutMilliseconds = 2_000
  /// Idle connections kept, a worker and server.
  public var poolIdleMax = 64
  /// How long an idle connection is kept; shorter than the upstream keeps it.
  public var poolIdleTimeoutMilliseconds = 55_000
  /// Replace fields of these names (`request_headers.set`).
  public var requestFieldsSet: [Field] = []
  /// Names in lower case.
  public var requestFieldsRemoved: [String] = []
  /// Replace fields of these names (`response_headers.set`).
  public var responseFieldsSet: [Field] = []
  /// Names in lower case.
  public var responseFieldsRemoved: [String] = []

  /// The defaults of config.md.
  public init(name: String, servers: [Server]) {
    self.name = name
    self.servers = servers
  }
}
