/// What a worker serves at the moment. A request takes it at its begin and keeps it to its end. Confined to the worker.
final class Serving {
  var context: WorkerContext
  /// Set once the process is to end: every answer closes its connection.
  var isDraining = false

  init(_ context: WorkerContext) { self.context = context }

  /// Whether a connection that was served under `former` has no place any more: its listener is gone, or asks for something else.
  func hasDropped(_ listener: ServedListener, of former: WorkerContext) -> Bool {
    former !== context && !context.listeners.contains { $0.takesConnections(of: listener) }
  }
}
