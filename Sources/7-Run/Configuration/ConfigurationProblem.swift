/// One thing that is wrong with proxy.yaml: where, what, and how to mend it.
public struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
  /// The file as it was named.
  public var file: String
  /// From 1.
  public var line: Int
  /// From 1.
  public var column: Int
  /// The key's path, such as `routes[2].upstream`; empty for the document.
  public var path: String
  /// What is wrong, and the mend.
  public var message: String

  /// A problem.
  public init(file: String, line: Int, column: Int, path: String, message: String) {
    self.file = file
    self.line = line
    self.column = column
    self.path = path
    self.message = message
  }

  /// `file:line:column: path: message`.
  public var description: String { "\(file):\(line):\(column): \(path.isEmpty ? "" : path + ": ")\(message)" }
}
