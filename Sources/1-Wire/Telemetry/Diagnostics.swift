import EventLoop

/// What the process tells its operator besides the access log: one line a fact, on standard error, never blocking a worker.
public struct Diagnostics: Sendable {
  /// How much it matters.
  public enum Level: String, Sendable {
    /// For the record.
    case notice
    /// It works, but may not for long.
    case warning
    /// Something does not work.
    case error
  }

  private let writer: LogWriter

  /// Diagnostics into `writer`.
  public init(_ writer: LogWriter) { self.writer = writer }

  /// Writes one line; line feeds inside become spaces.
  public func note(_ level: Level, _ message: String) {
    let line = message.replacing("\n", with: " ")
    writer.write(Array("\(Timestamp.text(unixNanoseconds: WallClock.unixNanoseconds)) \(level.rawValue) \(line)\n".utf8))
  }

  /// Waits until every line is written.
  public func finish() { writer.finish() }
}
