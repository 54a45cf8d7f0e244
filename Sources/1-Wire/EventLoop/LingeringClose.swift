import Bytes

extension Socket {
  /// Closes so that the peer can read the last answer although it may still be sending: a close with unread bytes would be a reset, and
  /// what is on its way to the peer would be lost (RFC 9112 section 9.6).
  ///
  /// Up to `bytesMax` bytes are read and dropped. Then the window closes, and the peer has until `deadline` to look at its answer.
  public func closeLingering(bytesMax: Int, until deadline: Instant) async {
    shutDownWriting()
    var dropped = ByteQueue()
    var left = bytesMax
    while left > 0 {
      dropped.removeAll()
      switch read(into: &dropped, minimum: 4 << 10) {
      case .bytes(let count): left -= count
      case .wouldBlock: guard await loop.wait(for: .readable(self), until: deadline) else { return close() }
      case .end, .failed: return close()
      }
    }
    _ = await loop.wait(for: .hangUp(self), until: deadline)
    close()
  }
}
