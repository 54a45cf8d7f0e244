package import Bytes
import CLinux

/// The wire itself, for a layer and for the socket that has none: one call to the kernel at a time.
extension Socket {
  /// Reads what is there into `buffer`, in one call to the kernel.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferOutcome {
    guard isOpen else { return .failed(EBADF) }
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 {
        // After a short read the socket is drained, and the next byte raises a new edge; but the end may have been announced already.
        if count < buffer.count && !isReadClosed { isReadable = false }
        return .bytes(count)
      }
      if count == 0 {
        isReadClosed = true
        return .end
      }
      switch clinux_errno() {
      case EINTR: continue
      case EAGAIN:
        isReadable = false
        return .wouldBlock
      case let error: return .failed(error)
      }
    }
  }

  /// Sends from the front of `buffer`, in one call to the kernel.
  package func transmit(_ buffer: UnsafeRawBufferPointer) -> TransferOutcome {
    guard isOpen else { return .failed(EBADF) }
    while true {
      let count = unsafe send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        if count < buffer.count { isWritable = false }
        return .bytes(count)
      }
      switch clinux_errno() {
      case EINTR: continue
      case EAGAIN:
        isWritable = false
        return .wouldBlock
      case let error: return .failed(error)
      }
    }
  }

  /// Sends from the front of `queue` and consumes what the kernel took.
  package func transmit(from queue: inout ByteQueue) -> WriteOutcome {
    while !queue.isEmpty {
      switch queue.withReadable({ bytes in unsafe bytes.withUnsafeBytes { unsafe transmit($0) } }) {
      case .bytes(let count): queue.consume(count)
      case .wouldBlock, .end: return .wouldBlock
      case .failed(let error): return .failed(error)
      }
      if !isWritable { return .wouldBlock }
    }
    return .complete
  }

  /// Whether the kernel may have something: false once a read came back short, until the loop hears of more.
  package var mayHaveBytes: Bool { isReadable }

  /// Says that the layer holds more for its user, whatever the kernel has.
  package func keepReadable() { isReadable = true }

  /// What the layer has to do before the user's next read needs the socket to take bytes: a wait for reading ends then.
  package func readWhenWritable() { readsWhenWritable = true }

  /// The same for a write that must hear from the peer first.
  package func writeWhenReadable() {
    isWritable = false
    writesWhenReadable = true
  }

  /// Ends our sending half without the layer's own end: for tests of what the other side makes of it.
  package func shutDownBelowTheLayer() { _ = shutdown(descriptor, Int32(SHUT_WR)) }
}
