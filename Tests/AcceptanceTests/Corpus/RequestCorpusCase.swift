import Fixtures

/// A raw request of the corpus, and what may become of it.
struct RequestCorpusCase: Sendable {
  enum Outcome: Sendable, Equatable {
    /// Exactly the requests of ``arrivals`` reach the upstream, and each is answered.
    case forwarded(closes: Bool)
    /// One answer of the server's own; nothing whole reaches the upstream.
    case answered(status: Int, closes: Bool)
    /// The connection ends without an answer; nothing whole reaches the upstream.
    case closed
  }

  /// A request as it must arrive at the upstream.
  struct Arrival: Sendable, Equatable {
    let method: String
    let target: String
    let body: [UInt8]
  }

  /// Whose rule it is that the request is not passed on as it stands.
  enum Rule: String, Sendable {
    /// A MUST, or the grammar, of the section named.
    case rfc = "RFC"
    /// The gate's own: the RFC leaves it to the recipient.
    case gate
  }

  let label: String
  let group: String
  let rule: Rule
  let bytes: [UInt8]
  let outcomes: [Outcome]
  let arrivals: [Arrival]
  /// Fields that no arriving request may have, in lower case.
  let without: [String]
  /// Fields that every arriving request has, with exactly this value.
  let with: [(name: String, value: String)]
  /// Values that no field may have.
  let withoutValues: [(name: String, value: String)]
  /// Whether the client sends no more behind it.
  let endsSending: Bool
  /// Where requests go of which a part may reach the upstream before their fault shows. When that part arrives is open: perhaps only
  /// while a later case is played, so it must be known by itself.
  static let begunTarget = "/begun"

  /// The method of its first request.
  var method: String { String(decoding: bytes.prefix { $0 != 0x20 }, as: UTF8.self) }

  /// Whether there is a way to pass the request on that leaves no doubt.
  var mayBeForwarded: Bool { outcomes.contains { if case .forwarded = $0 { true } else { false } } }

  static func all() throws -> [RequestCorpusCase] { try CorpusFile.entries(in: "requests").map { try RequestCorpusCase($0) } }

  private init(_ entry: CorpusEntry) throws {
    label = entry.label
    group = entry.group
    guard let rule = Rule(rawValue: entry.value("rule") ?? "gate") else { throw FixtureFailure("\(entry.label): no such rule") }
    self.rule = rule
    bytes = entry.bytes
    outcomes = try entry.values("expect").flatMap { $0.split(separator: ",") }.map { try Self.outcome(String($0), entry) }
    arrivals = try entry.values("arrives").map { try Self.arrival($0) }
    without = entry.values("without").flatMap { $0.split(separator: " ") }.map { $0.lowercased() }
    with = entry.values("with").map { Self.field($0) }
    withoutValues = entry.values("without-value").map { Self.field($0) }
    endsSending = entry.value("ends") == "yes"
    let isMarked = String(decoding: bytes, as: UTF8.self).contains(" \(Self.begunTarget) ")
    guard isMarked == (entry.value("begins") == "yes") else { throw FixtureFailure("\(label): begins does not fit its target") }
    guard !outcomes.isEmpty, mayBeForwarded == !arrivals.isEmpty else { throw FixtureFailure("\(entry.label): what arrives is not said") }
  }

  private static func outcome(_ text: String, _ entry: CorpusEntry) throws -> Outcome {
    let words = text.split(separator: " ")
    let closes = words.last == "close"
    switch words.first {
    case "forwarded": return .forwarded(closes: closes)
    case "closed": return .closed
    case let word?:
      guard let status = Int(word) else { throw FixtureFailure("\(entry.label): no such outcome as \(text)") }
      return .answered(status: status, closes: closes)
    case nil: throw FixtureFailure("\(entry.label): an empty outcome")
    }
  }

  /// `GET /a`, or `POST /a "body"`.
  private static func arrival(_ text: String) throws -> Arrival {
    let bytes = try CorpusFile.unescaped(Substring(text))
    let parts = bytes.split(separator: 0x20, maxSplits: 2)
    guard parts.count >= 2 else { throw FixtureFailure("'\(text)' is no request") }
    let body = parts.count == 3 ? Array(parts[2].dropFirst().dropLast()) : []
    return Arrival(method: String(decoding: parts[0], as: UTF8.self), target: String(decoding: parts[1], as: UTF8.self), body: body)
  }

  private static func field(_ text: String) -> (name: String, value: String) {
    let name = text.prefix { $0 != ":" }
    return (name.lowercased(), String(text.dropFirst(name.count + 1).drop { $0 == " " }))
  }
}
