public import Bytes

/// What lies between the bytes that a socket's user reads and writes and those on the wire: encryption. Confined to the socket's loop.
///
/// A layer keeps the socket's promise: what is sticky stays so until a call meets the opposite, and bytes that the layer holds already
/// count as something to read.
open class SocketLayer {
  /// A layer.
  public init() {}

  /// Appends what is there to `queue`, as ``Socket/read(into:minimum:)`` does.
  open func read(into queue: inout ByteQueue, minimum: Int) -> ReadOutcome { .end }

  /// Writes from the front of `queue`, as ``Socket/write(from:)`` does.
  open func write(from queue: inout ByteQueue) -> WriteOutcome { .failed(0) }

  /// Writes two queues as one, as ``Socket/write(from:then:)`` does.
  open func write(from first: inout ByteQueue, then second: inout ByteQueue) -> WriteOutcome { .failed(0) }

  /// Whether bytes for the user, or the end, are waiting. What is only the layer's own business is done by the way.
  open var hasSomethingToRead: Bool { true }

  /// Whether a part of what was to be written last may have left although it was not taken: nothing else may be written in its place.
  open var hasUnfinishedWrite: Bool { false }

  /// Told that the user has nothing more to write than what it writes next, so that the layer's own end can leave with that.
  open func expectEnd() {}

  /// Says that no more will be sent, as far as the socket takes it at once.
  open func finish() {}
}

/// What one call to the kernel did for a layer.
package enum TransferOutcome {
  /// So many bytes, at least one.
  case bytes(Int)
  /// Not now.
  case wouldBlock
  /// The peer sends no more.
  case end
  /// The kernel's errno.
  case failed(Int32)
}
