/// Collects everything that is wrong, so that all of it is reported at once.
final class ProblemList {
  private let file: String
  private var found: [ConfigurationProblem] = []

  init(file: String) { self.file = file }

  var isEmpty: Bool { found.isEmpty }

  /// In the order of the file.
  var sorted: [ConfigurationProblem] {
    found.enumerated().sorted { left, right in
      (left.element.line, left.element.column, left.offset) < (right.element.line, right.element.column, right.offset)
    }.map(\.element)
  }

  func add(_ place: Place, _ path: String, _ message: String) {
    found.append(ConfigurationProblem(file: file, line: place.line, column: place.column, path: path, message: message))
  }

  func add<Value>(_ placed: Placed<Value>, _ message: String) { add(placed.place, placed.path, message) }
}
