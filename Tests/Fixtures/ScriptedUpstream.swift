import Glibc
import Synchronization

/// The API behind the gate, as a test wants it to behave.
///
/// It reads every request by strict rules of its own and remembers it; what it answers, when, and how badly, the test's script says.
public final class ScriptedUpstream: Sendable {
  /// What it does with one request.
  public typealias Script = @Sendable (UpstreamExchange) throws -> Void

  /// A request as it came.
  public struct Request: Sendable, CustomStringConvertible {
    /// Head, and the body once it was read whole.
    public var message: RawMessage
    /// Which connection it came on, counted from 0.
    public let connection: Int
    /// Whether the body was read to its end.
    public var isComplete: Bool
    /// The request as text.
    public var description: String { message.description }
  }

  private struct State {
    var requests: [Request] = []
    var malformed: [String] = []
    var connections: [Int: RawConnection] = [:]
    var connectionCount = 0
    var threads: [TestThread] = []
    var isStopped = false
  }

  /// Where it listens, on 127.0.0.1 unless said otherwise.
  public let port: UInt16
  private let listener: CInt
  private let script: Script
  private let state = Mutex(State())

  /// Starts listening, on the given port or one that the kernel chooses, at 127.0.0.`loopback`.
  public init(port: UInt16 = 0, loopback number: UInt8 = 1, _ script: @escaping Script = { try $0.answer("hello") }) throws {
    self.script = script
    listener = try LoopbackSocket.make()
    LoopbackSocket.setOption(listener, SOL_SOCKET, SO_REUSEADDR, 1)
    guard LoopbackSocket.bind(listener, port: port, loopback: number), listen(listener, 1_024) == 0 else {
      let error = errno
      close(listener)
      throw FixtureFailure("cannot listen on port \(port): errno \(error)")
    }
    self.port = LoopbackSocket.port(of: listener)
    start()
  }

  /// Answers `hello`; a request of `/slow` only once the latch is open.
  public static func holdingSlow(until mayAnswer: Latch) -> Script {
    { exchange in
      if exchange.target == "/slow" { mayAnswer.wait() }
      try exchange.answer("hello")
    }
  }

  /// Starts listening on a Unix socket.
  public init(unixPath: String, _ script: @escaping Script = { try $0.answer("hello") }) throws {
    self.script = script
    port = 0
    listener = try LoopbackSocket.unix(unixPath) { Glibc.bind($0, $1, $2) }
    listen(listener, 1_024)
    start()
  }

  private func start() {
    let thread = TestThread { [self] in acceptConnections() }
    state.withLock { $0.threads.append(thread) }
  }

  /// Every request so far, in the order in which their heads came.
  public var requests: [Request] { state.withLock { $0.requests } }
  /// What broke HTTP/1.1 in what the gate sent.
  public var malformed: [String] { state.withLock { $0.malformed } }
  /// How many connections were ever made.
  public var connectionCount: Int { state.withLock { $0.connectionCount } }
  /// How many connections are open now.
  public var openConnectionCount: Int { state.withLock { $0.connections.count } }

  /// Stops listening, ends every connection and waits for its threads.
  public func stop() {
    let (connections, threads) = state.withLock { state in
      state.isStopped = true
      return (Array(state.connections.values), state.threads)
    }
    shutdown(listener, CInt(SHUT_RDWR))
    for connection in connections { connection.interrupt() }
    for thread in threads { thread.join() }
    close(listener)
  }

  private func acceptConnections() {
    while true {
      let descriptor = accept(listener, nil, nil)
      guard descriptor >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        return
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      let connection = RawConnection(descriptor: descriptor, timeoutMilliseconds: 120_000)
      state.withLock { state in
        guard !state.isStopped else { return connection.close() }
        let number = state.connectionCount
        state.connectionCount += 1
        state.connections[number] = connection
        state.threads.append(TestThread { [self] in serve(connection, number: number) })
      }
    }
  }

  private func serve(_ connection: RawConnection, number: Int) {
    defer {
      connection.close()
      _ = state.withLock { $0.connections.removeValue(forKey: number) }
    }
    do {
      while try serveOne(connection, number: number) {}
    } catch let malformed as MalformedMessage {
      state.withLock { $0.malformed.append(malformed.description) }
    } catch {
      // The gate ended the connection, or the script could not go on because of it: what the test is about shows elsewhere.
    }
  }

  private func serveOne(_ connection: RawConnection, number: Int) throws -> Bool {
    guard let head = try connection.readHead() else { return false }
    try head.checkRequestLine()
    try head.checkHost()
    let framing = try head.requestFraming()
    let index = state.withLock { state in
      state.requests.append(Request(message: head, connection: number, isComplete: framing == .none))
      return state.requests.count - 1
    }
    let exchange = UpstreamExchange(head, framing, on: connection, connectionNumber: number) { [self] message in
      state.withLock { state in
        state.requests[index].message = message
        state.requests[index].isComplete = true
      }
    }
    try script(exchange)
    if exchange.isOver { return false }
    try exchange.readBody()
    return head.value("Connection")?.lowercased() != "close"
  }
}
