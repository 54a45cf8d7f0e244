public import Bytes
public import EventLoop
public import HTTP

/// One connection to one server of an upstream, lent to one exchange at a time.
public final class UpstreamConnection {
  /// The socket.
  public let socket: Socket
  @usableFromInline let guardedInput = Guarded(ByteQueue())
  @usableFromInline let guardedOutput = Guarded(ByteQueue())

  /// What the server sent and nobody has taken yet.
  public var input: ByteQueue {
    @inlinable _read { yield guardedInput.value }
    @inlinable _modify { yield &guardedInput.value }
  }

  /// The head of the answer that is being relayed.
  public let answer = ResponseHead()
  /// What waits to be sent to the server.
  public var output: ByteQueue {
    @inlinable _read { yield guardedOutput.value }
    @inlinable _modify { yield &guardedOutput.value }
  }

  /// Whether it served an exchange before: then it may have died in the pool unseen.
  public private(set) var isReused = false

  let server: ServerPool
  /// Since when it may serve the next exchange; in the future while it rests.
  var idleSince = Instant.never
  /// The place of the request that it serves, where the upstream has only so many.
  var slot: RequestSlot?

  init(socket: Socket, server: ServerPool) {
    self.socket = socket
    self.server = server
  }

  /// The server: for the log.
  public var serverName: String { server.state.name }

  var hostField: String { server.state.hostField }

  func markReused() { isReused = true }

  /// Whether it is to serve nobody yet although it is idle.
  func rests(at now: Instant) -> Bool { idleSince > now }

  /// Gives its buffers back, as far as they are empty, and forgets the answer's head.
  public func releaseStorage() {
    input.releaseStorageIfEmpty()
    output.releaseStorageIfEmpty()
    answer.releaseStorage()
  }

  /// Whether it can serve another exchange: nothing unread, nothing unsent, and the server has not closed it.
  ///
  /// Bytes that come unasked would be taken for the next exchange's answer (response splitting), so they end the connection.
  var isClean: Bool {
    input.isEmpty && output.isEmpty && socket.isOpen && !socket.peerSendsNoMore && !socket.hasSomethingToRead
  }
}
