/// The store did not answer as it must; the gate fails closed.
public struct StoreFailure: Error, Sendable, Equatable {
  /// Whether the command was written, at least in part, so that it may have been carried out.
  public var outcomeUnknown: Bool
  /// For the log, never for a client.
  public var reason: String

  /// A failure with its reason.
  public init(outcomeUnknown: Bool, reason: String) {
    self.outcomeUnknown = outcomeUnknown
    self.reason = reason
  }
}
