public import Bytes
import COpenSSL
public import EventLoop

/// TLS on one connection: the layer between a socket and its user. Confined to the socket's loop.
@safe
public final class TLSSession: SocketLayer {
  /// Which end we are.
  enum Role {
    case server(TLSServer)
    case client(TLSClient)
  }

  /// The largest record's content (RFC 8446 section 5.1), in bytes.
  static let recordBytesMax = 16 << 10

  let ssl: OpaquePointer
  let role: Role
  unowned let socket: Socket
  /// What was read of the connection before TLS was put on it.
  private var received: ByteQueue
  /// Whether the peer has ended the connection below TLS.
  private(set) var hasEnded = false
  /// The kernel's errno, when the connection failed below TLS.
  private var errno: Int32 = 0
  /// Bytes that may yet come without anything for the user in them. What libssl answers by itself, key updates above all, costs more than
  /// it costs to send, and holds the loop as long as it comes.
  private var overheadLeft = TLSSession.overheadMax
  /// The largest handshake message that libssl takes, a chain of certificates, and what is read ahead.
  private static let overheadMax = 128 << 10
  /// What one record adds to its content (RFC 8446 section 5.2), and a little.
  private static let overheadPerRecord = 64
  /// Whether it can go on: after a failure libssl must not be called again.
  private var isBroken = false
  private var floods = false
  /// What broke it, for the log.
  public private(set) var failure: TLSFailure?
  private(set) var isEstablished = false
  /// What libssl has written and the socket has not taken, of what leaves together: the handshake's flights, the last record and the end.
  private var flight = ByteQueue()
  private var gathersFlight = true
  /// Whether libssl holds a record that it could not send: it sends that first, whatever it is given.
  private var holdsRecord = false
  /// Whether what is written next is the last.
  private var expectsEnd = false
  /// Whether close_notify was written.
  private var hasFinished = false

  /// Takes `ssl` over and becomes the layer of `socket`.
  init?(_ ssl: OpaquePointer, on socket: Socket, as role: Role, received: [UInt8] = []) {
    unsafe self.ssl = unsafe ssl
    self.role = role
    self.socket = socket
    self.received = ByteQueue()
    super.init()
    self.received.append(received)
    guard let bio = unsafe SocketBIO.make(for: self) else { return nil }
    unsafe SSL_set_bio(ssl, bio, bio)
    _ = unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    socket.put(self)
    if !received.isEmpty { socket.keepReadable() }
  }

  deinit { unsafe SSL_free(ssl) }

  /// The session that `ssl` belongs to.
  static func of(_ ssl: OpaquePointer?) -> TLSSession? {
    unsafe SSL_get_ex_data(ssl, 0).map { unsafe Unmanaged<TLSSession>.fromOpaque($0).takeUnretainedValue() }
  }

  var server: TLSServer? { if case .server(let server) = role { server } else { nil } }

  // MARK: The layer

  public override func read(into queue: inout ByteQueue, minimum: Int) -> ReadOutcome {
    guard !isBroken, isEstablished else { return .failed(errno) }
    ERR_clear_error()
    let count = unsafe queue.appendFilling(minimum: minimum) { unsafe Int(SSL_read(ssl, $0.baseAddress, Int32(clamping: $0.count))) }
    if count > 0 {
      overheadLeft = min(overheadLeft + count + Self.overheadPerRecord, Self.overheadMax)
      // What libssl has read already announces itself no more.
      if unsafe SSL_has_pending(ssl) == 1 || !received.isEmpty { socket.keepReadable() }
      return .bytes(count)
    }
    switch unsafe SSL_get_error(ssl, Int32(count)) {
    case SSL_ERROR_WANT_READ: return .wouldBlock
    case SSL_ERROR_WANT_WRITE:
      socket.readWhenWritable()
      return .wouldBlock
    case SSL_ERROR_ZERO_RETURN: return .end
    default: return .failed(breakDown())
    }
  }

  public override func write(from queue: inout ByteQueue) -> WriteOutcome {
    guard !isBroken, isEstablished else { return .failed(errno) }
    if !flight.isEmpty { return sendFlight() }
    while !queue.isEmpty {
      ERR_clear_error()
      gathersFlight = expectsEnd && queue.count <= Self.recordBytesMax
      defer { gathersFlight = false }
      let count = queue.withReadable { bytes in
        unsafe bytes.withUnsafeBytes { unsafe SSL_write(ssl, $0.baseAddress, Int32(min($0.count, Self.recordBytesMax))) }
      }
      holdsRecord = count <= 0
      if count > 0 {
        queue.consume(Int(count))
        guard gathersFlight else { continue }
        finish()
        return sendFlight()
      }
      switch unsafe SSL_get_error(ssl, count) {
      case SSL_ERROR_WANT_WRITE: return .wouldBlock
      case SSL_ERROR_WANT_READ:
        socket.writeWhenReadable()
        return .wouldBlock
      default: return .failed(breakDown())
      }
    }
    return .complete
  }

  /// One record for both as far as they fit into one: libssl takes its bytes from one place.
  public override func write(from first: inout ByteQueue, then second: inout ByteQueue) -> WriteOutcome {
    if first.count < Self.recordBytesMax { first.move(Self.recordBytesMax - first.count, from: &second) }
    let outcome = write(from: &first)
    return outcome == .complete && !second.isEmpty ? write(from: &second) : outcome
  }

  /// Tickets and key updates are libssl's own business; only what is left then is something for the user.
  public override var hasSomethingToRead: Bool {
    guard !isBroken, isEstablished else { return true }
    ERR_clear_error()
    var byte: UInt8 = 0
    let count = unsafe SSL_peek(ssl, &byte, 1)
    if count > 0 {
      socket.keepReadable()
      return true
    }
    if unsafe SSL_get_error(ssl, count) == SSL_ERROR_WANT_READ { return false }
    ERR_clear_error()
    return true
  }

  public override var hasUnfinishedWrite: Bool { holdsRecord }

  public override func expectEnd() { expectsEnd = true }

  /// Sends close_notify (RFC 8446 section 6.1), if the connection takes it at once.
  public override func finish() {
    guard !isBroken, isEstablished, !hasFinished else { return }
    hasFinished = true
    ERR_clear_error()
    if unsafe SSL_shutdown(ssl) < 0 { ERR_clear_error() }
  }

  // MARK: Below

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferOutcome {
    if !received.isEmpty {
      let count = min(received.count, buffer.count)
      received.withReadable { bytes in
        unsafe bytes.extracting(first: count).withUnsafeBytes { unsafe buffer.copyMemory(from: $0) }
      }
      received.consume(count)
      return .bytes(count)
    }
    // libssl asks once more behind each message; that nothing has come since is known.
    guard socket.mayHaveBytes else { return .wouldBlock }
    guard overheadLeft > 0 else {
      floods = true
      return .failed(KernelError.brokenProtocol)
    }
    let outcome = unsafe socket.receive(into: buffer)
    switch outcome {
    case .end: hasEnded = true
    case .failed(let error): errno = error
    case .bytes(let count): overheadLeft -= count
    case .wouldBlock: break
    }
    return outcome
  }

  func transmit(_ buffer: UnsafeRawBufferPointer) -> TransferOutcome {
    guard !gathersFlight && flight.isEmpty else {
      unsafe flight.append(Span(_unsafeElements: buffer.bindMemory(to: UInt8.self)))
      return .bytes(buffer.count)
    }
    let outcome = unsafe socket.transmit(buffer)
    if case .failed(let error) = outcome { errno = error }
    return outcome
  }

  // MARK: Failing

  /// The errno of a connection whose TLS failed; libssl is not asked again.
  func breakDown() -> Int32 {
    isBroken = true
    if floods {
      ERR_clear_error()
      errno = KernelError.brokenProtocol
      failure = TLSFailure(.peer, "too much came without any data in it")
    } else if errno != 0 {
      ERR_clear_error()
      failure = TLSFailure(.network, KernelError.text(errno))
    } else {
      failure = .drained(.peer, "the peer ended the connection")
      errno = KernelError.brokenProtocol
    }
    return errno
  }

  func establish() {
    isEstablished = true
    gathersFlight = false
  }

  /// Sends what was gathered.
  func sendFlight() -> WriteOutcome {
    let outcome = socket.transmit(from: &flight)
    if case .failed(let error) = outcome { errno = error }
    flight.releaseStorageIfEmpty()
    return outcome
  }
}
