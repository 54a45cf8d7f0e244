import Dispatch
import Glibc
import Synchronization

/// A program that a test runs beside itself. Whatever happens to the test process, the program ends with it.
public final class ChildProcess: Sendable {
  /// How a program ended.
  public enum End: Sendable, Equatable {
    /// It exited with this status.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)
  }

  /// Its process number.
  public let identifier: pid_t
  private let end = Mutex(End?.none)

  /// Starts a program, looked for in PATH unless its name has a slash.
  ///
  /// Nothing of this process's open files is passed on. Standard input is `input`, or nothing; output goes to files.
  public init(
    _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null", output: String = "/dev/null",
    errors: String = "/dev/null"
  ) throws {
    // Debian's essential package util-linux has setpriv; pdeathsig makes the kernel end the child when this process dies, however it dies.
    let command = ["setpriv", "--pdeathsig", "KILL", "--"] + arguments
    identifier = try Spawner.shared.spawn(command, environment: environment, input: input, output: output, errors: errors)
  }

  deinit { kill() }

  /// Whether it still runs.
  public var isRunning: Bool { poll() == nil }

  /// Sends a signal, unless it ended already.
  public func signal(_ number: Int32) {
    if isRunning { Glibc.kill(identifier, number) }
  }

  /// How it ended, when it does within the time.
  public func wait(milliseconds: Int = 10_000) -> End? {
    _ = eventually(within: milliseconds) { poll() != nil }
    return poll()
  }

  /// Ends it at once and waits for that.
  public func kill() {
    signal(SIGCONT)
    signal(SIGKILL)
    _ = wait()
  }

  private func poll() -> End? {
    end.withLock { end in
      if end != nil { return end }
      var status: Int32 = 0
      guard waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
      end = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .signalled(status & 0x7F)
      return end
    }
  }
}

extension ChildProcess {
  /// Resident memory in bytes, as the kernel counts it.
  public var residentBytes: Int { 1_024 * statusNumber("VmRSS:") }

  /// How many files, sockets among them, it has open.
  public var openFileCount: Int { (try? DirectoryListing.entries("/proc/\(identifier)/fd").count) ?? 0 }

  /// What its open files are, as the kernel names them, by descriptor.
  public var openFiles: [String: String] {
    let folder = "/proc/\(identifier)/fd"
    let descriptors = (try? DirectoryListing.entries(folder)) ?? []
    return Dictionary(uniqueKeysWithValues: descriptors.map { ($0, DirectoryListing.target("\(folder)/\($0)")) })
  }

  private func statusNumber(_ name: String) -> Int {
    let status = DirectoryListing.text("/proc/\(identifier)/status")
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return 0 }
    return line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) } ?? 0
  }
}

/// glibc 2.34 has it; Swift's Glibc module leaves it out.
@_silgen_name("posix_spawn_file_actions_addclosefrom_np")
private func closeFrom(_ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: CInt) -> CInt

/// Starts programs from one thread that lives as long as the process: `pdeathsig` counts the death of the *thread* that forked.
private final class Spawner: Sendable {
  static let shared = Spawner()

  private struct Order: Sendable {
    let work: @Sendable () -> Void
  }
  private let orders = Mutex([Order]())
  private let waiting = DispatchSemaphore(value: 0)

  private init() {
    _ = TestThread { [self] in
      while true {
        waiting.wait()
        orders.withLock { $0.isEmpty ? nil : $0.removeFirst() }?.work()
      }
    }
  }

  func spawn(
    _ arguments: [String], environment: [String: String], input: String, output: String, errors: String
  ) throws -> pid_t {
    let outcome = Outcome()
    let order = Order {
      outcome.set(Self.posixSpawn(arguments, environment: environment, files: [input, output, errors]))
    }
    orders.withLock { $0.append(order) }
    waiting.signal()
    switch outcome.get() {
    case .success(let identifier): return identifier
    case .failure(let failure): throw failure
    }
  }

  private static func posixSpawn(
    _ arguments: [String], environment: [String: String], files: [String]
  ) -> Result<pid_t, FixtureFailure> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, files[0], O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, files[1], O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, files[2], O_WRONLY | O_CREAT | O_APPEND, 0o600)
    _ = closeFrom(&actions, 3)

    var merged = ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
    if let path = getenv("LD_LIBRARY_PATH") { merged["LD_LIBRARY_PATH"] = String(cString: path) }
    merged.merge(environment) { $1 }
    var argumentPointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    var environmentPointers: [UnsafeMutablePointer<CChar>?] = merged.map { strdup("\($0)=\($1)") } + [nil]
    defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }

    // A test runner may hold signals back or ignore them; the programs under test must not inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var identifier = pid_t()
    let error = posix_spawnp(&identifier, arguments[0], &actions, &attributes, &argumentPointers, &environmentPointers)
    return error == 0 ? .success(identifier) : .failure(FixtureFailure("cannot start \(arguments.joined(separator: " ")): errno \(error)"))
  }

  /// A result that one thread waits for and another one sets.
  private final class Outcome: Sendable {
    private let result = Mutex(Result<pid_t, FixtureFailure>?.none)
    private let isSet = DispatchSemaphore(value: 0)
    func set(_ value: Result<pid_t, FixtureFailure>) {
      result.withLock { $0 = value }
      isSet.signal()
    }
    func get() -> Result<pid_t, FixtureFailure> {
      isSet.wait()
      return result.withLock { $0! }
    }
  }
}
