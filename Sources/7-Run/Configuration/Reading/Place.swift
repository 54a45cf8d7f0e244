/// A place in the file, both numbers from 1.
struct Place: Sendable, Equatable, Comparable {
  var line: Int
  var column: Int

  static func < (left: Place, right: Place) -> Bool { (left.line, left.column) < (right.line, right.column) }
}

/// Something that was written, with where it stands and the path of its key.
struct Placed<Value> {
  var value: Value
  var place: Place
  /// Such as `routes[2].upstream`.
  var path: String
}

extension Placed: Sendable where Value: Sendable {}
