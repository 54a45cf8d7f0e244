import Bytes
import EventLoop
import Fixtures
import Testing

@testable import TLS

/// An actor on a loop of its own, as the gate's workers are.
actor TLSStage {
  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  /// What the task of the server's end works on.
  private var accepting: Socket?
  private var session: TLSSession?

  private init(_ loop: EventLoop) { self.loop = loop }

  /// Runs `body` as a task of a fresh loop, and stops the loop.
  static func run<Result: Sendable>(_ body: @escaping @Sendable (isolated TLSStage) async throws -> Result) async throws -> Result {
    let loop = EventLoop()
    loop.start(name: "test")
    defer { loop.stop() }
    let stage = TLSStage(loop)
    return try await Task(executorPreference: loop) { try await body(stage) }.value
  }

  var soon: Instant { loop.now.advanced(byMilliseconds: 10_000) }

  /// Both ends of one connection.
  func pair() async throws -> (client: Socket, server: Socket) {
    let listener = try ListeningSocket(SocketAddress(host: "127.0.0.1", port: 0)!)
    let acceptor = Acceptor(listener, loop: loop)
    let client = try await Socket.connect(to: listener.address, on: loop, until: soon)
    _ = await loop.wait(for: .readable(acceptor), until: soon)
    guard case .connection(let server) = acceptor.accept() else { throw FixtureFailure("no connection") }
    acceptor.close()
    return (client, server)
  }

  /// Both ends with TLS between them: what the server's end says of the handshake, and the client's.
  ///
  /// With `readsBefore` the server's end reads what the client says before it puts TLS on the connection.
  func secured(_ server: TLSServer, _ client: TLSClient, readsBefore: Bool = false) async throws -> SecuredPair {
    let ends = try await pair()
    accepting = ends.server
    async let accepted: TLSFailure? = accept(server, readsBefore)
    do {
      let layer = try await client.secure(ends.client, on: loop, until: soon)
      if let failure = await accepted { throw failure }
      guard let session else { throw FixtureFailure("no session") }
      return SecuredPair(client: ends.client, server: ends.server, atServer: session, atClient: layer)
    } catch {
      ends.client.close()
      if let failure = await accepted { throw HandshakeFailures(client: error as? TLSFailure, server: failure) }
      throw error
    }
  }

  private func accept(_ server: TLSServer, _ readsBefore: Bool) async -> TLSFailure? {
    guard let socket = accepting else { return nil }
    var hello = ByteQueue()
    if readsBefore {
      _ = await loop.wait(for: .readable(socket), until: soon)
      _ = socket.read(into: &hello)
    }
    session = server.secure(socket, received: hello.copied())
    do throws(TLSFailure) {
      try await session?.handshake(on: loop, until: soon)
      return nil
    } catch {
      return error
    }
  }

  /// Sends `text` from one end and returns what the other has read once `count` bytes are there.
  func send(_ text: String, from sender: Socket, to receiver: Socket, count: Int? = nil) async throws -> String {
    var output = ByteQueue()
    output.append(text)
    var input = ByteQueue()
    let wanted = count ?? text.utf8.count
    while input.count < wanted {
      if !output.isEmpty, case .failed(let error) = sender.write(from: &output) { throw SocketFailure.failed(error) }
      switch receiver.read(into: &input) {
      case .bytes: continue
      case .end, .failed: return String(decoding: input.copied(), as: UTF8.self)
      case .wouldBlock:
        let ended =
          output.isEmpty
          ? await loop.wait(for: .readable(receiver), until: soon)
          : await loop.wait(for: .readable(receiver), or: .writable(sender), until: soon) != .timedOut
        guard ended else { throw SocketFailure.timedOut }
      }
    }
    return String(decoding: input.copied(), as: UTF8.self)
  }
}

/// Both ends of a connection with TLS.
struct SecuredPair {
  let client: Socket
  let server: Socket
  let atServer: TLSSession
  let atClient: TLSSession
}

/// Both ends' reasons.
struct HandshakeFailures: Error {
  let client: TLSFailure?
  let server: TLSFailure
}
