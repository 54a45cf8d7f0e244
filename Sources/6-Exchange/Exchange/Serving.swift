/// What a worker serves at the moment. A request takes it at its begin and keeps it to its end. Confined to the worker.
final class Serving {
  var context: WorkerContext
  /// Set once the process is to end: every answer closes its connection.
  var isDraining = false

  init(_ context: WorkerContext) { self.context = context }

  /// Whether a connection that was served under `former` has no place any more: its listener is gone, or asks for something else, or
  /// trusts others with the client's certificate.
  func hasDropped(_ listener: ServedListener, of former: WorkerContext, _ tls: ClientTLS?) -> Bool {
    let own = former === context ? listener : context.listeners.first { $0.takesConnections(of: listener) }
    guard let own else { return true }
    return tls?.hasOutlivedItsAuthorities(at: own) ?? false
  }
}
