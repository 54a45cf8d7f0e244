import Fixtures

/// The text format of /metrics (Prometheus), read strictly: a line that is none is a failure.
struct Metrics {
  struct Series {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  /// Every series.
  private(set) var series: [Series] = []
  /// Each family's type.
  private(set) var types: [String: String] = [:]

  init(text: String) throws {
    for line in text.split(separator: "\n") {
      if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        guard words.count == 4 else { throw FixtureFailure("'\(line)' is no TYPE line") }
        types[String(words[2])] = String(words[3])
      } else if !line.hasPrefix("#") {
        series.append(try Self.series(line))
      }
    }
  }

  /// The sum of the series that have these labels, whatever others they have; nil when there is none.
  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    let found = series.filter { one in one.name == name && labels.allSatisfy { one.labels[$0.key] == $0.value } }
    return found.isEmpty ? nil : found.reduce(0) { $0 + $1.value }
  }

  private static func series(_ line: Substring) throws -> Series {
    guard let space = line.lastIndex(of: " "), let value = number(line[line.index(after: space)...]) else {
      throw FixtureFailure("'\(line)' is no line of metrics")
    }
    let head = line[..<space]
    guard let brace = head.firstIndex(of: "{") else { return Series(name: String(head), labels: [:], value: value) }
    guard head.last == "}" else { throw FixtureFailure("'\(line)' has no end of its labels") }
    var labels: [String: String] = [:]
    var rest = head[head.index(after: brace)...].dropLast()
    while !rest.isEmpty {
      guard let equals = rest.range(of: "=\""), let end = rest[equals.upperBound...].firstIndex(of: "\"") else {
        throw FixtureFailure("'\(line)' has a label that is none")
      }
      labels[String(rest[..<equals.lowerBound])] = String(rest[equals.upperBound..<end])
      rest = rest[rest.index(after: end)...]
      if rest.first == "," { rest.removeFirst() }
    }
    return Series(name: String(head[..<brace]), labels: labels, value: value)
  }

  private static func number(_ text: Substring) -> Double? {
    switch text {
    case "+Inf": .infinity
    case "NaN": .nan
    default: Double(text)
    }
  }
}
