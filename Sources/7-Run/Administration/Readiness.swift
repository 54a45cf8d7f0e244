/// Whether a load balancer should send requests here.
public enum Readiness: Sendable, Equatable {
  /// Before the listeners are open.
  case starting
  /// Serving.
  case ready
  /// SIGTERM came.
  case draining
}
