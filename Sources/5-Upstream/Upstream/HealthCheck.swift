/// How an upstream's servers are asked whether they are well (`health`), with every default filled in.
public struct HealthCheck: Sendable, Equatable {
  /// What is asked for with `GET`; nil when a connection that is taken is answer enough.
  public var path: String?
  /// The `Host` of the question; nil for the server's own name and port.
  public var host: String?
  /// From the beginning of one check to that of the next.
  public var intervalMilliseconds = 5_000
  /// For one check, from connecting to the end of the answer's head.
  public var timeoutMilliseconds = 2_000
  /// How many checks in a row a server must pass to get requests again.
  public var healthyCount = 2
  /// How many checks in a row a server must fail to get none.
  public var unhealthyCount = 3
  /// Which statuses pass.
  public var statuses = 200...399

  /// A check of `path`, or of the connection alone.
  public init(path: String? = nil) { self.path = path }
}
