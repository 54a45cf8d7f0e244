import Fixtures

/// What a hostile upstream sends, and what the client may see of it.
struct AnswerCorpusCase: Sendable {
  enum Outcome: Sendable, Equatable {
    /// The client gets a whole answer of this status; 502 is the gate's own.
    case answered(Int)
    /// The client sees that the answer was cut off behind its head.
    case cut
  }

  enum End: String, Sendable {
    /// The upstream leaves the connection open.
    case stay
    /// It closes in order.
    case close
    /// It closes with a reset.
    case reset
  }

  let label: String
  let group: String
  let bytes: [UInt8]
  let outcomes: [Outcome]
  /// What the upstream does behind the bytes.
  let end: End
  /// The method of the request that is answered.
  let method: String
  /// Whether the connection may serve another request; the gate must hang up otherwise.
  let mayReuse: Bool
  /// Fields that the client must not see, in lower case.
  let without: [String]

  static func all() throws -> [AnswerCorpusCase] { try CorpusFile.entries(in: "answers").map { try AnswerCorpusCase($0) } }

  private init(_ entry: CorpusEntry) throws {
    label = entry.label
    group = entry.group
    bytes = entry.bytes
    outcomes = try entry.values("expect").flatMap { $0.split(separator: ",") }.map { text in
      let word = text.filter { $0 != " " }
      if word == "cut" { return .cut }
      guard let status = Int(word) else { throw FixtureFailure("\(entry.label): no such outcome as \(word)") }
      return .answered(status)
    }
    guard let end = End(rawValue: entry.value("then") ?? "stay") else { throw FixtureFailure("\(entry.label): no such end") }
    self.end = end
    method = entry.value("method") ?? "GET"
    mayReuse = entry.value("reuse") == "yes"
    without = entry.values("without").flatMap { $0.split(separator: " ") }.map { $0.lowercased() }
  }
}
