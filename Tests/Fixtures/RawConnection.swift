import Glibc
import Synchronization

/// One blocking TCP connection, used by one thread at a time. Every call that could wait for ever fails after the time-out.
public final class RawConnection: Sendable {
  private struct State {
    var descriptor: CInt
    var input: [UInt8] = []
    var start = 0
  }
  private let state: Mutex<State>
  /// How long a call may wait.
  public let timeoutMilliseconds: Int

  /// Takes over a connected socket.
  init(descriptor: CInt, timeoutMilliseconds: Int) {
    state = Mutex(State(descriptor: descriptor))
    self.timeoutMilliseconds = timeoutMilliseconds
    LoopbackSocket.setTimeout(descriptor, milliseconds: timeoutMilliseconds)
    LoopbackSocket.setOption(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, 1)
  }

  deinit { close() }

  private var descriptor: CInt { state.withLock { $0.descriptor } }

  // MARK: Sending

  /// Sends everything.
  public func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { throw FixtureFailure("send: errno \(errno)") }
      rest.removeFirst(count)
    }
  }

  /// Sends a text.
  public func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Sends what the kernel takes without waiting, and says how much that was; nil when the connection is gone.
  public func sendWithoutWaiting(_ bytes: [UInt8]) -> Int? {
    let count = bytes.withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }
    if count < 0 { return errno == EAGAIN ? 0 : nil }
    return count
  }

  /// Sends no more; what the other side sends still comes (a half-close).
  public func closeWriting() { shutdown(descriptor, CInt(SHUT_WR)) }

  // MARK: Receiving

  /// At least one byte, or none at the end of the connection.
  public func readSome(atMost limit: Int = 65_536) throws -> [UInt8] {
    let buffered = state.withLock { state in
      defer {
        state.input = []
        state.start = 0
      }
      return Array(state.input[state.start...])
    }
    return buffered.isEmpty ? try receive(limit) : buffered
  }

  /// Everything up to the end of the connection.
  public func readToEnd(limit: Int = 1 << 24) throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try readSome()
      if bytes.isEmpty { return all }
      all += bytes
      guard all.count <= limit else { throw FixtureFailure("more than \(limit) bytes came") }
    }
  }

  /// Whether the connection ends now: nothing more comes, and then its end, orderly or by a reset.
  public func endsNow() throws -> Bool {
    do {
      return try readSome().isEmpty
    } catch let failure as ConnectionReset {
      _ = failure
      return true
    }
  }

  /// Whether something is there to read, or the connection ended, within the time.
  public func isReadable(withinMilliseconds milliseconds: Int) -> Bool {
    if state.withLock({ $0.start < $0.input.count }) { return true }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, CInt(milliseconds)) > 0
  }

  /// Bytes up to and with the end of a line.
  func readLine(limit: Int = 65_536) throws -> [UInt8] {
    var line: [UInt8] = []
    while line.last != 0x0A {
      guard let byte = try readByte() else { throw FixtureFailure("the connection ended in the line \(RawMessage.quoted(line))") }
      line.append(byte)
      guard line.count <= limit else { throw MalformedMessage("a line longer than \(limit) bytes") }
    }
    return line
  }

  /// A head, from the first line to the empty one; nil when the connection ended before its first byte.
  public func readHead() throws -> RawMessage? {
    var bytes: [UInt8] = []
    while true {
      if bytes.isEmpty {
        guard let first = try readByte() else { return nil }
        bytes.append(first)
      }
      let line = try readLine()
      bytes += line
      if line == [0x0D, 0x0A] { return try RawMessage(head: bytes) }
    }
  }

  /// Exactly so many bytes.
  public func readExactly(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      if state.withLock({ $0.start == $0.input.count }) {
        guard try fill() else { throw FixtureFailure("the connection ended \(count - bytes.count) bytes too early") }
      }
      state.withLock { state in
        let end = min(state.input.count, state.start + count - bytes.count)
        bytes += state.input[state.start..<end]
        state.start = end
      }
    }
    return bytes
  }

  /// The body of a message whose head was read.
  public func readBody(of message: inout RawMessage, _ framing: RawFraming) throws {
    switch framing {
    case .none: break
    case .length(let count): message.body = try readExactly(count)
    case .untilClose: message.body = try readToEnd()
    case .chunked:
      while try readChunk(of: &message) {}
      while case let line = try readLine(), line != [0x0D, 0x0A] {
        message.trailers.append(try RawMessage.field(RawMessage.lines(line)[0]))
      }
    }
  }

  /// One chunk; false after the last one, whose trailers are still to come.
  public func readChunk(of message: inout RawMessage) throws -> Bool {
    let line = try RawMessage.lines(readLine())[0]
    guard !line.isEmpty, line.utf8.allSatisfy({ isHexadecimal($0) }), let size = Int(line, radix: 16) else {
      throw MalformedMessage("'\(line)' is no chunk size")
    }
    message.chunkSizes.append(size)
    if size == 0 { return false }
    message.body += try readExactly(size)
    guard try readExactly(2) == [0x0D, 0x0A] else { throw MalformedMessage("a chunk does not end with CRLF") }
    return true
  }

  // MARK: Ending

  /// Ends the connection with a reset (RST), as a client does whose process died with unread data.
  public func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close()
  }

  /// Ends the connection.
  public func close() {
    let descriptor = state.withLock { state in
      defer { state.descriptor = -1 }
      return state.descriptor
    }
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Wakes whoever waits on the connection, from another thread, and ends it.
  public func interrupt() {
    state.withLock { state in
      if state.descriptor >= 0 { _ = shutdown(state.descriptor, CInt(SHUT_RDWR)) }
    }
  }

  /// Lets only so many bytes wait in the kernel, so that a reader who stops is felt early.
  public func limitReceiveBuffer(_ bytes: Int) {
    LoopbackSocket.setOption(descriptor, SOL_SOCKET, SO_RCVBUF, CInt(bytes))
  }

  // MARK: The buffer

  private func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }

  private func readByte() throws -> UInt8? {
    if state.withLock({ $0.start == $0.input.count }) {
      guard try fill() else { return nil }
    }
    return state.withLock { state in
      defer { state.start += 1 }
      return state.input[state.start]
    }
  }

  /// Waits for more; false at the end of the connection.
  private func fill() throws -> Bool {
    let bytes = try receive(65_536)
    state.withLock { state in
      state.input = bytes
      state.start = 0
    }
    return !bytes.isEmpty
  }

  private func receive(_ limit: Int) throws -> [UInt8] {
    let descriptor = self.descriptor
    guard descriptor >= 0 else { throw FixtureFailure("the connection is closed") }
    while true {
      var failure: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
        let result = recv(descriptor, buffer.baseAddress, limit, 0)
        failure = result < 0 ? errno : 0
        count = max(0, result)
      }
      switch failure {
      case 0: return bytes
      case EINTR: continue
      case EAGAIN: throw FixtureFailure("nothing came for \(timeoutMilliseconds) ms")
      case ECONNRESET: throw ConnectionReset()
      default: throw FixtureFailure("recv: errno \(failure)")
      }
    }
  }
}

/// The other side ended the connection with a reset.
public struct ConnectionReset: Error {}
