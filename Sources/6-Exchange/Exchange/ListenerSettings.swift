/// Where to listen.
public struct BindAddress: Sendable, Hashable {
  /// An IPv4 or IPv6 address, without brackets.
  public var host: String
  /// 0 lets the kernel choose.
  public var port: UInt16

  /// An address.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

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

  public var bind: BindAddress
  public var underscoreFields: UnderscoreFields = .drop
  public var headBytesMax = 32 << 10
  public var requestLineBytesMax = 8 << 10
  public var fieldCountMax = 100
  public var headTimeoutMilliseconds = 10_000
  public var bodyTimeoutMilliseconds = 30_000
  public var idleTimeoutMilliseconds = 75_000
  public var writeTimeoutMilliseconds = 30_000

  /// The defaults of config.md.
  public init(bind: BindAddress) { self.bind = bind }
}
