import Bytes
import EventLoop

/// A client's connection between two requests, once nothing has come for a moment: without a task, whose stack would keep the room of
/// its deepest call, and without buffers. Ten thousand of them are what a gate mostly has.
final class RestingConnection: ReadinessObserver {
  let socket: Socket
  let listener: ServedListener
  /// Its place among the listener's connections.
  var slot: ConnectionSlot?
  let peerAddress: IPAddress?
  let believesForwarding: Bool
  let peerSpeaksTLS: Bool
  let tls: ClientTLS?
  let likelyKey: LikelyKey
  let requestCount: Int
  let idleSince: Instant
  /// What it was served under last.
  let context: WorkerContext
  private let worker: Worker

  init(
    _ connection: DownstreamConnection, slot: consuming ConnectionSlot?, idleSince: Instant, context: WorkerContext, worker: Worker
  ) {
    socket = connection.socket
    listener = connection.listener
    self.slot = slot
    peerAddress = connection.peer.address
    believesForwarding = connection.believesForwarding
    peerSpeaksTLS = connection.peerSpeaksTLS
    tls = connection.tls
    likelyKey = connection.likelyKey
    requestCount = connection.requestCount
    self.idleSince = idleSince
    self.context = context
    self.worker = worker
  }

  /// Has the worker go on with it, in a task again.
  override func becameReady() {
    let identifier = ObjectIdentifier(socket)
    worker.assumeIsolated { $0.begin(identifier) }
  }

  /// As ``DownstreamConnection/mayBeClosed``.
  var mayBeClosed: Bool {
    !socket.hasSomethingToRead && idleSince.advanced(byMilliseconds: DownstreamConnection.busyMilliseconds) <= context.loop.now
  }
}

/// A client's connection, in either of its forms.
enum ServedConnection {
  /// With a task of its own.
  case busy(Exchange)
  case resting(RestingConnection)

  var socket: Socket {
    switch self {
    case .busy(let exchange): exchange.connection.socket
    case .resting(let connection): connection.socket
    }
  }

  /// Closes it whatever it does.
  func cutOff() {
    switch self {
    case .busy(let exchange): exchange.connection.cutOff()
    case .resting(let connection): connection.socket.close()
    }
  }

  var mayBeClosed: Bool {
    switch self {
    case .busy(let exchange): exchange.connection.mayBeClosed
    case .resting(let connection): connection.mayBeClosed
    }
  }

  /// Whether the configuration has no place for it any more.
  func isLeftOver(in serving: Serving) -> Bool {
    switch self {
    case .busy(let exchange): exchange.isLeftOver
    case .resting(let connection): serving.hasDropped(connection.listener, of: connection.context, connection.tls)
    }
  }
}
