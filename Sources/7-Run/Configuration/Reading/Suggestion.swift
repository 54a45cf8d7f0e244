/// Finds what somebody meant who wrote a name that is none.
enum Suggestion {
  /// `; did you mean "orders"?`, or nothing when no name is near.
  static func phrase(for written: String, among names: [String]) -> String {
    nearest(written, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
  }

  /// The nearest name, if it is near enough to be meant.
  static func nearest(_ written: String, among names: [String]) -> String? {
    let folded = fold(written)
    guard folded.count <= 64 else { return nil }
    let limit = min(3, (folded.count + 2) / 3)
    return names.map { (name: $0, distance: distance(folded, fold($0))) }.filter { $0.distance <= limit }
      .min { $0.distance < $1.distance }?.name
  }

  private static func fold(_ name: String) -> [Character] { name.lowercased().map { $0 == "-" ? "_" : $0 } }

  /// Insertions, deletions, replacements and swaps of neighbours that make one of the other.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in 0..<left.count {
      var current = [row + 1]
      for column in 0..<right.count {
        let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
        var best = min(replaced, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
