import CLinux

/// What a layer has of its socket: one call to the kernel at a time.
extension Socket {
  /// Reads what is there into `buffer`, in one call to the kernel.
  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferOutcome {
    guard isOpen else { return .failed(EBADF) }
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 {
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
