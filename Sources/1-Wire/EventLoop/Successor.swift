import CLinux

/// Another process of the same program that takes the listening sockets over: the new binary. It is no child of this process, so that a
/// service manager can wait for it.
public final class Successor: Sendable {
  /// Its process number.
  public let process: Int32
  private let handle: ProcessHandle
  /// The end of the pipe from which its word comes.
  private let word: Int32

  /// Starts `arguments[0]`, a path, with these arguments and variables and with the listening sockets, under the names that proxy.yaml
  /// gives them. It inherits no other descriptor but the standard ones and the pipe that ``announce(in:)`` writes to.
  public init(
    _ arguments: [String], environment: [String: String], sockets: [(bind: String, socket: ListeningSocket)]
  ) throws(SuccessorFailure) {
    var pipe: [Int32] = [-1, -1]
    guard unsafe clinux_pipe(&pipe) == 0 else { throw SuccessorFailure(errno: clinux_errno()) }
    defer { _ = CLinux.close(pipe[1]) }
    var variables = environment
    for name in Self.ownVariables { variables[name] = nil }
    variables["LISTEN_FDS"] = "\(sockets.count)"
    variables["LISTEN_FDNAMES"] = sockets.map { $0.socket.inheritedName(bind: $0.bind).text }.joined(separator: ":")
    variables[Self.readyVariable] = "\(Int(InheritedSockets.firstDescriptor) + sockets.count)"
    let descriptors = sockets.map(\.socket.descriptor) + [pipe[1]]
    let text = variables.map { "\($0.key)=\($0.value)" }.sorted()
    let process = unsafe Self.withPointers(arguments) { arguments in
      // Its own number stands in these two once it is there.
      unsafe Self.withPointers(text + ["LISTEN_PID=0000000000"] + (environment["WATCHDOG_PID"] == nil ? [] : ["WATCHDOG_PID=0000000000"])) {
        unsafe clinux_start_successor(arguments, $0, descriptors, Int32(descriptors.count), Int32(text.count))
      }
    }
    guard process > 0 else {
      _ = CLinux.close(pipe[0])
      throw SuccessorFailure(errno: -process)
    }
    self.process = process
    handle = ProcessHandle(process)
    word = pipe[0]
  }

  deinit {
    _ = CLinux.close(word)
    handle.close()
  }

  static let ownVariables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", readyVariable]
  static let readyVariable = "ATTESTGATE_READY_FD"

  /// Waits until it says that it serves; false when it ended, or has said nothing within the time. Blocks the calling thread.
  public func waitUntilReady(milliseconds: Int) -> Bool { clinux_wait_for_byte(word, Int32(clamping: milliseconds)) == 1 }

  /// Sends it a signal, unless it has ended: SIGTERM when the process that started it is to end too, or what was meant for whoever serves.
  public func send(_ signal: Int32) { handle.send(signal) }

  /// Ends it unless it has ended: it is asked to, and killed when it does not heed. Says how that went. Blocks the calling thread.
  public func endUnready() -> String {
    if handle.hasEnded(withinMilliseconds: Self.ownEndMilliseconds) { return "it ended before it served, see its own lines above" }
    send(SIGTERM)
    if handle.hasEnded(withinMilliseconds: Self.graceMilliseconds) { return "it did not serve in time, and was ended" }
    send(SIGKILL)
    return "it did not serve in time, did not heed SIGTERM, and was killed"
  }

  /// Who has closed its end of the pipe is about to end, as a rule.
  private static let ownEndMilliseconds: Int32 = 200
  private static let graceMilliseconds: Int32 = 2_000

  /// Tells the process that started this one, if it waits for that, that this one serves.
  public static func announce(in environment: (String) -> String?) {
    guard environment("LISTEN_PID").flatMap({ Int32($0) }) == getpid() else { return }
    guard let descriptor = environment(readyVariable).flatMap({ Int32($0) }), descriptor > 2 else { return }
    var byte: UInt8 = 1
    _ = unsafe write(descriptor, &byte, 1)
    _ = CLinux.close(descriptor)
  }

  /// Lends texts as C has them: an array of pointers with nil behind the last.
  private static func withPointers<Result>(
    _ texts: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
  }
}

/// A process that is no child of this one: its number may be another's once it has ended.
enum ProcessHandle: Sendable, Equatable {
  case descriptor(Int32)
  /// The system gives no descriptor of it.
  case number(Int32)
  /// It had ended before it could be held.
  case ended

  init(_ process: Int32) {
    let descriptor = clinux_open_process(process)
    if descriptor >= 0 { self = .descriptor(descriptor) } else { self = clinux_errno() == ESRCH ? .ended : .number(process) }
  }

  func send(_ signal: Int32) {
    switch self {
    case .descriptor(let descriptor): _ = clinux_signal_process(descriptor, signal)
    case .number(let process): _ = kill(process, signal)
    case .ended: break
    }
  }

  /// Blocks the calling thread for as long, unless it ends before.
  func hasEnded(withinMilliseconds milliseconds: Int32) -> Bool {
    switch self {
    case .descriptor(let descriptor): return clinux_wait_for_end(descriptor, milliseconds) != 0
    case .number(let process):
      usleep(UInt32(milliseconds) * 1_000)
      return kill(process, 0) != 0
    case .ended: return true
    }
  }

  func close() {
    if case .descriptor(let descriptor) = self { _ = CLinux.close(descriptor) }
  }
}

/// A process could not be started.
public struct SuccessorFailure: Error, Sendable {
  /// The kernel's reason.
  public let errno: Int32
}
