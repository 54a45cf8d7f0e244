import Foundation

/// A program run to its end.
public struct CommandRun: Sendable {
  /// How it ended; nil when it had to be ended after the time.
  public let end: ChildProcess.End?
  /// What it wrote to standard output.
  public let output: [UInt8]
  /// What it wrote to standard error.
  public let errors: String

  /// The output as text.
  public var text: String { String(decoding: output, as: UTF8.self) }
  /// Whether it exited with 0.
  public var succeeded: Bool { end == .exited(0) }

  /// Runs a program with `input` as its standard input.
  public init(_ arguments: [String], environment: [String: String] = [:], input: [UInt8] = [], milliseconds: Int = 60_000) throws {
    let folder = try TemporaryFolder()
    try Data(input).write(to: URL(fileURLWithPath: folder.file("input")))
    let child = try ChildProcess(
      arguments, environment: environment, input: folder.file("input"), output: folder.file("output"), errors: folder.file("errors"))
    end = child.wait(milliseconds: milliseconds)
    child.kill()
    output = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("output"))))
    errors = folder.read("errors")
  }
}
