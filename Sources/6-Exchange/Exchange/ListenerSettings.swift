/// Where to listen.
public struct BindAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IPv4 or IPv6 address, without brackets.
  public var host: String
  /// 0 lets the kernel choose.
  public var port: UInt16

  /// An address.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// As proxy.yaml writes it: `127.0.0.1:8080`, `[::1]:8080`.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether only this machine can reach it.
  public var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }
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
  /// `underscore_headers`.
  public var underscoreFields: UnderscoreFields = .drop
  /// Request line and fields together; more is 431.
  public var headBytesMax = 32 << 10
  /// More is 414.
  public var requestLineBytesMax = 8 << 10
  /// More is 431.
  public var fieldCountMax = 100
  /// From a request's first byte to the end of its head.
  public var headTimeoutMilliseconds = 10_000
  /// Between two bytes of a body.
  public var bodyTimeoutMilliseconds = 30_000
  /// Between two requests.
  public var idleTimeoutMilliseconds = 75_000
  /// While the client takes no byte of an answer.
  public var writeTimeoutMilliseconds = 30_000

  /// The defaults of config.md.
  public init(bind: BindAddress) { self.bind = bind }
}
