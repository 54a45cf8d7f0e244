import Foundation
import Glibc
import Synchronization

/// A real Redis in a folder of its own, on a port of 127.0.0.1 and on a Unix socket. It ends with the test process.
///
/// Methods block the calling thread for as long as Redis takes, a few seconds at most.
public final class RedisServer: Sendable {
  /// How Redis is configured, beyond port, socket and folder.
  public struct Options: Sendable {
    /// `requirepass`.
    public var password: String?
    /// Further lines of redis.conf, such as `user gate on >secret ~attestgate:* +@all`.
    public var lines: [String]

    /// No password, nothing saved to disk, unless asked for.
    public init(password: String? = nil, lines: [String] = []) {
      self.password = password
      self.lines = lines
    }
  }

  /// Where it listens on 127.0.0.1; the same after a restart.
  public let port: UInt16

  private let folder: TemporaryFolder
  private let options: Options
  private let process = Mutex<ChildProcess?>(nil)

  /// Starts a server and waits until it answers.
  public init(_ options: Options = Options()) throws {
    self.options = options
    folder = try TemporaryFolder()
    port = try FreePort.next()
    try start()
  }

  deinit { kill() }

  /// Path of the Unix socket.
  public var socketPath: String { folder.file("redis.sock") }

  /// `redis://…`, with the password of the options.
  public var url: String { "redis://\(options.password.map { ":\($0)@" } ?? "")127.0.0.1:\(port)/0" }

  /// Ends the process at once, as `kill -9` does, and waits until it is gone.
  public func kill() {
    process.withLock { $0.take() }?.kill()
  }

  /// SIGSTOP: it keeps its connections and answers nothing.
  public func pause() { process.withLock { $0 }?.signal(SIGSTOP) }

  /// SIGCONT.
  public func resume() { process.withLock { $0 }?.signal(SIGCONT) }

  /// Kills it, if it runs, and starts it with the data that it last saved.
  public func restart() throws {
    kill()
    try start()
  }

  /// Kills it, if it runs, and starts it without any data.
  public func restartEmpty() throws {
    kill()
    removeData()
    try start()
  }

  /// Saves, and returns what was saved: to go back to with ``restart(with:)``.
  public func snapshot() throws -> Data {
    try command("SAVE")
    return try Data(contentsOf: URL(fileURLWithPath: folder.file("dump.rdb")))
  }

  /// Kills it, if it runs, and starts it with older data.
  public func restart(with snapshot: Data) throws {
    kill()
    removeData()
    try snapshot.write(to: URL(fileURLWithPath: folder.file("dump.rdb")))
    try start()
  }

  /// Runs one command on a connection of its own. Throws the text of an error reply.
  @discardableResult
  public func command(_ words: String...) throws -> RedisValue { try connect().command(words) }

  /// A connection that is authenticated with the options' password.
  public func connect() throws -> RedisTestConnection {
    let connection = try RedisTestConnection(unixPath: socketPath)
    if let password = options.password { try connection.command(["AUTH", password]) }
    return connection
  }

  private func removeData() {
    for name in ["dump.rdb", "appendonlydir"] { try? FileManager.default.removeItem(atPath: folder.file(name)) }
  }

  private func start() throws {
    let lines =
      [
        "port \(port)", "bind 127.0.0.1", "unixsocket \(socketPath)", "dir \(folder.path)", "save \"\"", "daemonize no",
        "enable-debug-command yes",
      ] + (options.password.map { ["requirepass \($0)"] } ?? []) + options.lines
    let file = try folder.write(lines.joined(separator: "\n") + "\n", to: "redis.conf")
    let process = try ChildProcess(["redis-server", file], output: folder.file("log"), errors: folder.file("log"))
    let isReady = eventually {
      guard process.isRunning else { return true }
      return (try? connect().command(["PING"])) == .bytes(Array("PONG".utf8))
    }
    guard isReady, process.isRunning else { throw FixtureFailure("redis-server did not start: \(folder.read("log"))") }
    self.process.withLock { $0 = process }
  }
}
