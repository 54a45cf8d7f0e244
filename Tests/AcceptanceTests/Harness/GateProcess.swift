import Fixtures
import Foundation
import Glibc

/// The built binary, serving, with a configuration of the test's own in a folder of its own.
final class GateProcess: Sendable {
  /// Where clients connect.
  let port: UInt16
  /// Where health and metrics are.
  let adminPort: UInt16
  private let workers: Int
  /// Holds the configuration and the logs.
  let folder: TemporaryFolder
  /// The running program.
  let process: ChildProcess

  /// The binary that was built with the tests: it lies beside the test bundle.
  static let binary: String = {
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("attestgate").path
  }()

  /// Writes the configuration, starts the gate and waits until it is ready.
  ///
  /// `configuration` is proxy.yaml without `listeners`, `admin` and `workers`; `listener` are further lines of the one listener.
  /// `descriptorMax` is how many files the system lets it open, `addressSpaceMax` how many KiB of address space it has. `before` are
  /// words of a command that becomes the gate, given the listener's port in place of `PORT`.
  init(
    _ configuration: String, listener: [String] = [], workers: Int = 1, waitUntilReady: Bool = true, descriptorMax: Int? = nil,
    addressSpaceMax: Int? = nil, before: [String] = [], environment: [String: String] = [:]
  ) throws {
    folder = try TemporaryFolder()
    port = try FreePort.next()
    adminPort = try FreePort.next()
    self.workers = workers
    try Self.write(configuration, listener: listener, workers: workers, port: port, adminPort: adminPort, folder)
    let limits = (descriptorMax.map { ["ulimit -n \($0)"] } ?? []) + (addressSpaceMax.map { ["ulimit -v \($0)"] } ?? [])
    let limit = limits.isEmpty ? [] : ["sh", "-c", (limits + ["exec \"$0\" \"$@\""]).joined(separator: " && ")]
    process = try ChildProcess(
      limit + before.map { [port] in $0 == "PORT" ? "\(port)" : $0 } + [Self.binary, "serve", "--config", folder.file("proxy.yaml")],
      environment: environment, output: folder.file("output"), errors: folder.file("errors"))
    if waitUntilReady { try self.waitUntilReady() }
  }

  /// Writes another configuration, which is not read before the gate is told to.
  func configure(_ configuration: String, listener: [String] = [], workers: Int? = nil) throws {
    try Self.write(configuration, listener: listener, workers: workers ?? self.workers, port: port, adminPort: adminPort, folder)
  }

  /// Has the configuration read, and waits until it has been.
  func reload(isGood: Bool = true) throws {
    let labels = ["result": isGood ? "done" : "failed"]
    let before = try metric("attestgate_config_reloads_total", labels) ?? 0
    process.signal(SIGHUP)
    guard try eventually(within: 20_000, { try metric("attestgate_config_reloads_total", labels) ?? 0 > before }) else {
      throw FixtureFailure("the configuration is not read:\n\(log)")
    }
  }

  private static func write(
    _ configuration: String, listener: [String], workers: Int, port: UInt16, adminPort: UInt16, _ folder: TemporaryFolder
  ) throws {
    let lines =
      ["workers: \(workers)", "access_log: \(folder.file("access.log"))", "admin: {bind: \"127.0.0.1:\(adminPort)\"}", "listeners:"]
      + ["  - bind: \"127.0.0.1:\(port)\""] + listener.map { "    \($0)" }
    try folder.write(lines.joined(separator: "\n") + "\n" + configuration, to: "proxy.yaml")
  }

  /// What it wrote to standard error and standard output.
  var log: String { folder.read("errors") + folder.read("output") }

  /// Waits until it says that it is ready.
  func waitUntilReady() throws {
    let isReady = eventually(within: 30_000) { !process.isRunning || isReadyNow }
    guard isReady, process.isRunning else { throw FixtureFailure("the gate does not get ready:\n\(log)") }
  }

  /// Whether /readyz says 200.
  var isReadyNow: Bool { (try? admin("/readyz").status) == 200 }

  /// Asks the admin listener.
  func admin(_ path: String) throws -> RawMessage {
    try exchange(port: adminPort, "GET \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n")
  }

  /// The value of one series of /metrics, labels in any order; nil when it is not there.
  func metric(_ name: String, _ labels: [String: String] = [:]) throws -> Double? {
    try Metrics(text: admin("/metrics").text).value(name, labels)
  }

  /// A connection to the listener.
  func connect(receiveBufferBytes: Int? = nil) throws -> RawConnection {
    try RawConnection(port: port, receiveBufferBytes: receiveBufferBytes)
  }

  /// The access log's lines so far.
  var accessLog: [AccessLogLine] {
    folder.read("access.log").split(separator: "\n").map { AccessLogLine(text: String($0)) }
  }

  /// The access log, once it has so many lines.
  func accessLog(count: Int) throws -> [AccessLogLine] {
    guard eventually(within: 10_000, { accessLog.count >= count }) else {
      throw FixtureFailure("the access log has only \(accessLog.count) of \(count) lines:\n\(folder.read("access.log"))")
    }
    return accessLog
  }

  /// Asks it to stop, and says how it ended.
  func stop(milliseconds: Int = 30_000) -> ChildProcess.End? {
    process.signal(SIGTERM)
    return process.wait(milliseconds: milliseconds)
  }
}

/// One line of the access log.
struct AccessLogLine {
  let text: String
  let members: [String: Any]

  init(text: String) {
    self.text = text
    members = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
  }

  subscript(_ name: String) -> String? {
    switch members[name] {
    case let text as String: text
    case let number as NSNumber: number.stringValue
    default: nil
    }
  }
}
