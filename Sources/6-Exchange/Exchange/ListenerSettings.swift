public import HTTP

/// Where to listen.
public struct BindAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IPv4 or IPv6 address, without brackets.
  public var host: String
  /// 0 lets the kernel choose.
  public var port: UInt16
  /// The path of a Unix socket, which has neither host nor port.
  public var unixPath: String?

  /// An address.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// A Unix socket.
  public init(unixPath: String) {
    self.init(host: "", port: 0)
    self.unixPath = unixPath
  }

  /// As proxy.yaml writes it: `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/attestgate.sock`.
  public var description: String {
    if let unixPath { return "unix:\(unixPath)" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool { unixPath != nil || host == "::1" || host.hasPrefix("127.") }
}

/// One entry of `listeners:` in proxy.yaml, with every default filled in.
public struct ListenerSettings: Sendable {
  /// What happens to field names with an underscore, which CGI and its kin cannot tell from a hyphen.
  public enum UnderscoreFields: String, Sendable {
    /// They are removed.
    case drop
    /// The request is 400.
    case reject
    /// They are passed on.
    case keep
  }

  /// Where to listen.
  public var bind: BindAddress
  /// Who is believed what he says of others: the client's address, scheme and host, the request's identifier (`trusted_proxies`).
  public var trustedPeers = TrustedPeers()
  /// Whether every connection begins with a PROXY header (`proxy_protocol`).
  public var expectsProxyHeader = false
  /// `tls`; nil where the listener speaks plain HTTP.
  public var tls: ListenerTLS?
  /// `underscore_headers`.
  public var underscoreFields: UnderscoreFields = .drop
  /// Request line and fields together; more is 431.
  public var headBytesMax = 32 << 10
  /// More is 414.
  public var requestLineBytesMax = 8 << 10
  /// More is 431.
  public var fieldCountMax = 100
  /// Connections at once, in all; with so many no more are accepted until one ends.
  public var connectionsMax = 20_000
  /// Connections at once from one address (IPv6: one /64); more are closed at once.
  public var connectionsPerAddressMax = 1_000
  /// The answer to the last of so many requests closes its connection.
  public var requestsPerConnectionMax = 100_000
  /// A request's body must come at this rate on the whole, after ``bodyGraceMilliseconds``; 0 asks for none.
  public var bodyBytesPerSecondMin = 1 << 10
  /// What a slow start, or a pause of the network, may cost before ``bodyBytesPerSecondMin`` is asked for.
  public static let bodyGraceMilliseconds = 5_000
  /// From a request's first byte to the end of its head.
  public var headTimeoutMilliseconds = 10_000
  /// Between two bytes of a body.
  public var bodyTimeoutMilliseconds = 30_000
  /// Between two requests.
  public var idleTimeoutMilliseconds = 75_000
  /// While the client takes no byte of an answer.
  public var writeTimeoutMilliseconds = 30_000
  /// An answer must be taken at this rate on the whole, after ``writeTimeoutMilliseconds`` of waiting for the client; 0 asks for none.
  public var writeBytesPerSecondMin = 1 << 10

  /// The defaults of config.md.
  public init(bind: BindAddress) { self.bind = bind }
}
