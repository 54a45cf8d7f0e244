import EventLoop

/// One listener as one worker accepts from it.
final class Intake {
  let acceptor: Acceptor
  /// Given when a connection ends, for an intake that waits for a place.
  let connectionEnded: Signal
  /// Of the configuration that the worker serves.
  var listener: ServedListener
  var limit: ConnectionLimit

  init(_ socket: ListeningSocket, _ listener: ServedListener, _ limit: ConnectionLimit, loop: EventLoop) {
    acceptor = Acceptor(socket, loop: loop)
    connectionEnded = Signal(loop: loop)
    self.listener = listener
    self.limit = limit
  }
}
