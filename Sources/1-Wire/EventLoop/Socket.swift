public import Bytes
import CLinux

/// What a read found.
public enum ReadOutcome: Sendable, Equatable {
  /// So many bytes were appended.
  case bytes(Int)
  /// Nothing is there yet.
  case wouldBlock
  /// The peer sends no more.
  case end
  /// The connection failed, with the kernel's errno.
  case failed(Int32)
}

/// What a write did.
public enum WriteOutcome: Sendable, Equatable {
  /// All bytes were taken.
  case complete
  /// The kernel took fewer: wait for `.writable`.
  case wouldBlock
  /// The connection failed, with the kernel's errno.
  case failed(Int32)
}

/// Why a connection could not be made.
public enum SocketFailure: Error, Sendable, Equatable {
  /// Refused, unreachable, no descriptors left: the kernel's errno. No byte was sent.
  case failed(Int32)
  /// The deadline passed first.
  case timedOut
  /// The connection stood, but what was to secure it could not: the reason, for the operator. No byte of the user's was sent.
  case notSecured(String)
}

/// A stream socket, registered edge-triggered with one loop and confined to it.
public final class Socket: WaitSource {
  /// Bytes asked for in one read.
  public static let readBytes = 16 << 10

  private(set) var descriptor: Int32
  /// What encrypts, if anything does.
  private var layer: SocketLayer?
  /// Whether the peer may be told that this is the end.
  private var endsInOrder = true
  /// The other end, for logs and forwarded-for fields.
  public let peer: SocketAddress

  /// Takes a non-blocking descriptor over; nil, and the descriptor closed, when the loop cannot register it.
  init?(descriptor: Int32, peer: SocketAddress, loop: EventLoop, isConnected: Bool) {
    self.descriptor = descriptor
    self.peer = peer
    super.init(loop: loop)
    isWritable = isConnected
    let events = UInt32(CLINUX_EPOLLIN | CLINUX_EPOLLOUT | CLINUX_EPOLLRDHUP) | 1 << UInt32(CLINUX_EPOLLET_BIT)
    guard loop.register(self, descriptor: descriptor, events: events) else {
      _ = CLinux.close(descriptor)
      return nil
    }
  }

  deinit {
    // A socket that is still open here was dropped by a task that ended in the middle; its slot keeps it alive otherwise.
    if descriptor >= 0 { _ = CLinux.close(descriptor) }
  }

  /// Whether ``close()`` was not called yet.
  public var isOpen: Bool { descriptor >= 0 }

  /// Whether the peer closed or shut its sending half, as far as the loop has heard.
  public var peerSendsNoMore: Bool { isReadClosed }

  /// Whether something unread, or the end, is waiting, as far as the loop has heard.
  public var hasSomethingToRead: Bool { isReadable && (layer.map(\.hasSomethingToRead) ?? true) }

  /// Puts a layer between its user and the wire, from now on.
  package func put(_ layer: SocketLayer) { self.layer = layer }

  /// Bytes that the kernel has taken and the peer's has not confirmed yet; of a Unix socket, those that the peer has not read.
  public var unconfirmedByteCount: Int { descriptor >= 0 ? Int(clinux_unconfirmed(descriptor)) : 0 }

  /// Connects, without blocking the loop.
  public static func connect(
    to address: SocketAddress, on loop: EventLoop, until deadline: Instant
  ) async throws(SocketFailure) -> Socket {
    let descriptor = socket(address.domain, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .failed(clinux_errno()) }
    if address.domain != AF_UNIX { _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
    var result = startConnecting(descriptor, to: address)
    // A Unix socket whose queue is full says so at once, and gives no sign when there is room again.
    while result == EAGAIN && address.isUnix && loop.now < deadline {
      await loop.sleep(until: min(deadline, loop.now.advanced(byMilliseconds: Self.unixQueueMilliseconds)))
      result = startConnecting(descriptor, to: address)
    }
    guard result == 0 || result == EINPROGRESS else {
      _ = CLinux.close(descriptor)
      throw result == EAGAIN ? .timedOut : .failed(result)
    }
    guard let socket = Socket(descriptor: descriptor, peer: address, loop: loop, isConnected: result == 0) else {
      throw .failed(ENOMEM)
    }
    if result == EINPROGRESS {
      guard await loop.wait(for: .writable(socket), until: deadline) else {
        socket.close()
        throw .timedOut
      }
      let failure = clinux_socket_error(descriptor)
      guard failure == 0 else {
        socket.close()
        throw .failed(failure)
      }
    }
    return socket
  }

  private static let unixQueueMilliseconds = 5

  private static func startConnecting(_ descriptor: Int32, to address: SocketAddress) -> Int32 {
    unsafe address.withNative { native, length in
      unsafe clinux_connect(descriptor, native, length) == 0 ? 0 : clinux_errno()
    }
  }

  /// Appends what is there to `queue`, at most what fits: at least `minimum` bytes of room are made.
  public func read(into queue: inout ByteQueue, minimum: Int = Socket.readBytes) -> ReadOutcome {
    if let layer, isOpen { return layer.read(into: &queue, minimum: minimum) }
    var outcome = TransferOutcome.wouldBlock
    _ = unsafe queue.appendFilling(minimum: minimum) { buffer in
      outcome = unsafe receive(into: buffer)
      return if case .bytes(let count) = outcome { count } else { 0 }
    }
    switch outcome {
    case .bytes(let count): return .bytes(count)
    case .wouldBlock: return .wouldBlock
    case .end: return .end
    case .failed(let error): return .failed(error)
    }
  }

  /// Writes from the front of `queue` and consumes what the kernel took.
  public func write(from queue: inout ByteQueue) -> WriteOutcome {
    if let layer { return layer.write(from: &queue) }
    return transmit(from: &queue)
  }

  /// Writes two queues as one, so that a head and its body leave in one segment.
  public func write(from first: inout ByteQueue, then second: inout ByteQueue) -> WriteOutcome {
    guard !first.isEmpty, !second.isEmpty else {
      let outcome = write(from: &first)
      return outcome == .complete ? write(from: &second) : outcome
    }
    if let layer { return layer.write(from: &first, then: &second) }
    let total = first.count + second.count
    let count = first.withReadable { head in
      second.withReadable { body in
        unsafe head.withUnsafeBytes { head in
          unsafe body.withUnsafeBytes { body in
            unsafe clinux_send_two(descriptor, head.baseAddress, head.count, body.baseAddress, body.count)
          }
        }
      }
    }
    if let outcome = settle(count, of: total) { return outcome }
    let fromFirst = min(count, first.count)
    first.consume(fromFirst)
    second.consume(count - fromFirst)
    guard !first.isEmpty || !second.isEmpty else { return .complete }
    return isWritable ? write(from: &first, then: &second) : .wouldBlock
  }

  /// What a result of the kernel means; nil when `count` bytes were taken. Less than all means that the send buffer is full.
  private func settle(_ count: Int, of total: Int) -> WriteOutcome? {
    if count >= 0 {
      if count < total { isWritable = false }
      return nil
    }
    switch clinux_errno() {
    case EAGAIN:
      isWritable = false
      return .wouldBlock
    case EINTR: return .wouldBlock
    case let error: return .failed(error)
    }
  }

  /// Whether something of the bytes that the last write left in the queue may be on its way already.
  public var hasUnfinishedWrite: Bool { layer?.hasUnfinishedWrite ?? false }

  /// Says that what is written next, all of it, is the last: a layer's own end then leaves in the same segment.
  public func expectEnd() { layer?.expectEnd() }

  /// Says that no more will be sent, and keeps reading: the beginning of a lingering close (RFC 9112 section 9.6).
  public func shutDownWriting() {
    guard descriptor >= 0 else { return }
    layer?.finish()
    _ = shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Makes ``close()`` send a reset: the peer must not take what it has for the whole.
  public func resetOnClose() {
    guard descriptor >= 0 else { return }
    endsInOrder = false
    _ = clinux_reset_on_close(descriptor)
  }

  /// Closes; whoever still waits for it is woken.
  public func close() {
    guard descriptor >= 0 else { return }
    if endsInOrder { layer?.finish() }
    loop.unregister(self, descriptor: nil)
    loop.forgetTimer(of: self)
    _ = CLinux.close(descriptor)
    descriptor = -1
    // What encrypted takes tens of kilobytes, and a closed socket may be kept by its timer for as long as that had to run.
    layer = nil
    endAllWaits()
  }
}
