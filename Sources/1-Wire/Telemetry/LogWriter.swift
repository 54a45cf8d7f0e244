import CLinux
import EventLoop
import Synchronization

/// Where log lines go.
public enum LogTarget: Sendable, Equatable {
  /// Nowhere.
  case off
  /// Standard output.
  case standardOutput
  /// Standard error.
  case standardError
  /// A file, appended to; opened anew when ``LogWriter/reopen()`` is called, for log rotation.
  case file(String)
}

/// Writes log lines on a thread of its own: a full pipe or a slow disk holds up no request. What does not fit into the bounded
/// queue is dropped and counted.
@safe
public final class LogWriter: Sendable {
  /// Bytes that may wait.
  static let queueBytesMax = 8 << 20

  private struct State {
    var chunks: [[UInt8]] = []
    var byteCount = 0
    var isWriting = false
    /// Whom to tell when the file cannot be opened anew; nil when it is not to be.
    var reopens: (@Sendable (LogFailure) -> Void)?
    var isClosed = false
  }

  private let target: LogTarget
  private let state = Mutex(State())
  /// Raised with ``state`` locked: many threads write.
  private let lost: Counter
  private let waiting: Int32

  /// Opens the target and starts the thread; `lost` counts the lines that are dropped. Throws the kernel's errno when the file cannot be
  /// opened.
  public init(_ target: LogTarget, lost: Counter = Counter()) throws(LogFailure) {
    self.target = target
    self.lost = lost
    waiting = eventfd(0, Int32(EFD_CLOEXEC))
    // Without it the thread would not wait, but turn.
    guard waiting >= 0 else { throw LogFailure(errno: clinux_errno()) }
    let descriptor = try Self.open(target)
    guard target != .off else { return }
    NativeThread.start(name: "log") { self.serve(descriptor) }
  }

  deinit { CLinux.close(waiting) }

  /// Lines that found the queue full, or could not be written.
  public var lostCount: UInt64 { lost.value }

  /// Whether lines are wanted at all.
  public var isOn: Bool { target != .off }

  /// Queues whole lines, each with its line feed.
  public func write(_ lines: [UInt8]) {
    guard target != .off, !lines.isEmpty else { return }
    let accepted = state.withLock { state in
      guard state.byteCount + lines.count <= Self.queueBytesMax else {
        lost.add(Self.lineCount(of: lines[...]))
        return false
      }
      state.chunks.append(lines)
      state.byteCount += lines.count
      return true
    }
    if accepted { wake() }
  }

  /// Opens the file anew: it was moved away. Where that fails lines go on into the one before, and `onFailure` is called on the writer's
  /// thread.
  public func reopen(onFailure: @escaping @Sendable (LogFailure) -> Void = { _ in }) {
    state.withLock { $0.reopens = onFailure }
    wake()
  }

  /// Waits until everything queued is written, two seconds at most: for the end of the process.
  public func finish() {
    for _ in 0..<200 where state.withLock({ !$0.chunks.isEmpty || $0.isWriting }) { usleep(10_000) }
  }

  /// Writes what is queued and ends: nobody writes to it any more.
  public func close() {
    state.withLock { $0.isClosed = true }
    wake()
  }

  private static func lineCount(of bytes: ArraySlice<UInt8>) -> UInt64 {
    UInt64(bytes.count { $0 == UInt8(ascii: "\n") })
  }

  private func wake() {
    var one: UInt64 = 1
    _ = unsafe CLinux.write(waiting, &one, 8)
  }

  private static func open(_ target: LogTarget) throws(LogFailure) -> Int32 {
    switch target {
    case .off: return -1
    case .standardOutput: return 1
    case .standardError: return 2
    case .file(let path):
      let descriptor = unsafe clinux_open_log(path)
      guard descriptor >= 0 else { throw LogFailure(errno: clinux_errno()) }
      return descriptor
    }
  }

  private func serve(_ first: Int32) {
    var descriptor = first
    while true {
      var count: UInt64 = 0
      _ = unsafe read(waiting, &count, 8)
      let (chunks, reopens) = state.withLock { state in
        defer {
          state.chunks = []
          state.byteCount = 0
          state.reopens = nil
          state.isWriting = true
        }
        return (state.chunks, state.reopens)
      }
      if let reopens, case .file = target {
        do throws(LogFailure) {
          let fresh = try Self.open(target)
          CLinux.close(descriptor)
          descriptor = fresh
        } catch {
          reopens(error)
        }
      }
      for chunk in chunks { writeAll(chunk, to: descriptor) }
      let ends = state.withLock { state in
        state.isWriting = false
        return state.isClosed && state.chunks.isEmpty
      }
      guard ends else { continue }
      if descriptor > 2 { CLinux.close(descriptor) }
      return
    }
  }

  private func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { unsafe CLinux.write(descriptor, $0.baseAddress! + written, bytes.count - written) }
      if count > 0 {
        written += count
      } else if clinux_errno() != EINTR && clinux_errno() != EAGAIN {
        state.withLock { _ in lost.add(Self.lineCount(of: bytes[written...])) }
        return
      } else {
        usleep(1_000)
      }
    }
  }
}

/// A log's file could not be opened.
public struct LogFailure: Error, Sendable, Equatable {
  /// The kernel's reason.
  public let errno: Int32
}
