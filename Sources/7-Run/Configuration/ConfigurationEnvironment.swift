import FoundationEssentials

/// What a configuration depends on besides its file, as values, so that a test can choose them.
public struct ConfigurationEnvironment: Sendable {
  /// An environment variable, nil when it is unset.
  public var variable: @Sendable (String) -> String?
  /// What `workers: auto` means.
  public var processorCount: Int
  /// The time at which certificates must be valid, in seconds since 1970.
  public var unixSeconds: Int

  /// An environment.
  public init(variable: @escaping @Sendable (String) -> String?, processorCount: Int, unixSeconds: Int) {
    self.variable = variable
    self.processorCount = processorCount
    self.unixSeconds = unixSeconds
  }

  /// This process, this machine, now.
  public static var process: ConfigurationEnvironment {
    let information = ProcessInfo.processInfo
    let variables = information.environment
    return ConfigurationEnvironment(
      variable: { variables[$0] }, processorCount: max(1, information.activeProcessorCount),
      unixSeconds: Int(Date().timeIntervalSince1970))
  }
}
