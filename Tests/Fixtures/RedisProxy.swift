import Glibc
import Synchronization

/// Stands between a client and a real Redis, on a Unix socket, and can put other bytes in place of a reply: so a client is in the
/// middle of an honest conversation when Redis goes wrong.
public final class RedisProxy: Sendable {
  private struct State {
    var replacement: [UInt8]?
    var connectionCount = 0
    var isStopped = false
  }

  private let state = Mutex(State())
  private let folder: TemporaryFolder
  private let listener: Int32
  private let upstreamPath: String

  /// Where clients connect.
  public var socketPath: String { folder.file("proxy.sock") }

  /// A proxy before `server`, which must outlive it.
  public init(to server: RedisServer) throws {
    folder = try TemporaryFolder()
    upstreamPath = server.socketPath
    listener = try UnixSocket.listen(path: folder.file("proxy.sock"))
    _ = TestThread { [self] in accept() }
  }

  /// The next chunk that Redis sends is dropped, and these bytes go to the client instead.
  public func replaceNextReply(with bytes: [UInt8]) { state.withLock { $0.replacement = bytes } }

  /// Connections so far.
  public var connectionCount: Int { state.withLock { $0.connectionCount } }

  /// Takes no more connections.
  public func stop() {
    state.withLock { $0.isStopped = true }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      guard client >= 0, !state.withLock({ $0.isStopped }) else { break }
      state.withLock { $0.connectionCount += 1 }
      guard let upstream = try? UnixSocket.connect(path: upstreamPath) else {
        close(client)
        continue
      }
      _ = TestThread { [self] in relay(client, upstream) }
    }
    close(listener)
  }

  private func relay(_ client: Int32, _ upstream: Int32) {
    defer {
      close(client)
      close(upstream)
    }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      var events = [pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: upstream, events: Int16(POLLIN), revents: 0)]
      guard poll(&events, 2, -1) > 0 else { return }
      for (index, event) in events.enumerated() where event.revents != 0 {
        let count = recv(event.fd, &chunk, chunk.count, 0)
        guard count > 0 else { return }
        var bytes = Array(chunk[..<count])
        if index == 1,
          let replacement = state.withLock({ state in
            defer { state.replacement = nil }
            return state.replacement
          })
        {
          bytes = replacement
        }
        guard UnixSocket.sendAll(bytes, to: index == 0 ? upstream : client) else { return }
      }
    }
  }
}

/// Blocking Unix sockets for fixtures.
enum UnixSocket {
  static func listen(path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard withAddress(path, { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 64) == 0 else {
      throw FixtureFailure("listen: errno \(errno)")
    }
    return descriptor
  }

  static func connect(path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard withAddress(path, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
      let error = errno
      close(descriptor)
      throw FixtureFailure("connect: errno \(error)")
    }
    return descriptor
  }

  static func sendAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
  }
}
