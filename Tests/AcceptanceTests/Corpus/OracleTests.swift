import Fixtures
import Foundation
import Testing

/// The same corpus, played to other servers of the trade beside the gate: for the table of docs/security.md. `scripts/oracles` starts them
/// and runs this; it is skipped otherwise.
@Suite(.enabled(if: Oracle.areGiven)) struct OracleTests {
  @Test(.timeLimit(.minutes(10))) func otherServersPlayTheCorpusToo() throws {
    var reports: [OracleReport] = []
    try withOracleGate { port, upstream in
      reports.append(try OracleReport(of: "AttestGate", port: port, upstream: upstream))
    }
    let oracles = try Oracle.given()
    reports += try onThreads(oracles.count) { index in
      let oracle = oracles[index]
      let upstream = try ScriptedUpstream(port: oracle.upstreamPort, OracleReport.script())
      defer { upstream.stop() }
      return try OracleReport(of: oracle.name, port: oracle.port, upstream: upstream)
    }
    let folder = try #require(ProcessInfo.processInfo.environment["ATTESTGATE_ORACLES_OUTPUT"])
    try OracleTable(reports).markdown.write(toFile: folder + "/table.md", atomically: true, encoding: .utf8)
    let details = reports.flatMap(\.details).joined(separator: "\n")
    try details.write(toFile: folder + "/details.txt", atomically: true, encoding: .utf8)
    let ours = reports[0].verdicts.filter { $0.kind == .letThrough || $0.kind == .confused }
    #expect(ours.isEmpty, "\(ours.map(\.label))")
  }

  private func withOracleGate(_ body: (UInt16, ScriptedUpstream) throws -> Void) throws {
    let routes = """
      - {path: "/gated/**", upstream: api, gate: enforce}
        - {path: "/**", upstream: api, gate: off}
      """
    try withProxy(script: try OracleReport.script(), routes: routes) { gate, upstream in try body(gate.port, upstream) }
  }
}

/// A server that `scripts/oracles` has started.
struct Oracle: Sendable {
  let name: String
  let port: UInt16
  /// Where it expects its upstream.
  let upstreamPort: UInt16

  static let areGiven = ProcessInfo.processInfo.environment["ATTESTGATE_ORACLES"] != nil

  /// `NAME=PORT:UPSTREAM-PORT`, separated by semicolons.
  static func given() throws -> [Oracle] {
    try (ProcessInfo.processInfo.environment["ATTESTGATE_ORACLES"] ?? "").split(separator: ";").map { text in
      let parts = text.split { $0 == "=" || $0 == ":" }
      guard parts.count == 3, let port = UInt16(parts[1]), let upstreamPort = UInt16(parts[2]) else {
        throw FixtureFailure("'\(text)' is no server")
      }
      return Oracle(name: String(parts[0]), port: port, upstreamPort: upstreamPort)
    }
  }
}

/// What one server made of the corpus.
struct OracleReport: Sendable {
  enum Kind: Sendable {
    /// Answered by the server itself, or not at all.
    case refused
    /// Passed on in a way that leaves no doubt.
    case forwarded
    /// Passed on although, or otherwise than, the corpus says.
    case letThrough
    /// Passed on so that two readers disagree about where a message ends: a hidden request arrives as one of its own, a line end stands
    /// alone, the framing is ambiguous, or a canary gets a foreign answer or none.
    case confused
  }

  struct Verdict: Sendable {
    let label: String
    let group: String
    let isRFC: Bool
    let kind: Kind
    let reason: String
  }

  let name: String
  private(set) var verdicts: [Verdict] = []
  /// Every case that was let through, for reading.
  var details: [String] {
    verdicts.filter { $0.kind == .letThrough || $0.kind == .confused }.map {
      "\(name) | \($0.kind) | \($0.isRFC ? "RFC" : "gate") | \($0.label) | \($0.reason)"
    }
  }

  private static let patienceMilliseconds = 700

  /// The script of the upstream behind each server.
  static func script() throws -> ScriptedUpstream.Script {
    let hostile = HostileUpstream(try AnswerCorpusCase.all(), servesOn: true)
    return { try hostile.answer($0) }
  }

  init(of name: String, port: UInt16, upstream: ScriptedUpstream) throws {
    self.name = name
    let player = CorpusPlayer(port: port, upstream: upstream, patienceMilliseconds: Self.patienceMilliseconds)
    for one in try RequestCorpusCase.all() {
      verdicts.append(Self.verdict(on: one, try player.play(one.bytes, method: one.method, endsSending: one.endsSending)))
    }
    for (index, one) in try AnswerCorpusCase.all().enumerated() {
      verdicts.append(Self.verdict(on: one, try AnswerSeen(port: port, target: "/answers/\(index)", method: one.method)))
    }
  }

  private static func verdict(on one: RequestCorpusCase, _ played: CorpusPlayer.Played) -> Verdict {
    func verdict(_ kind: Kind, _ reason: String = "") -> Verdict {
      Verdict(label: one.label, group: one.group, isRFC: one.rule == .rfc, kind: kind, reason: reason)
    }
    let whole = played.whole.map(\.message)
    let hidden = { (targets: [String]) in targets.filter { $0.contains("/hidden") }.count }
    if let fault = played.canaryFaults.first { return verdict(.confused, fault.replacing("\r\n", with: " ")) }
    if hidden(whole.map(\.target)) > hidden(one.arrivals.map(\.target)) { return verdict(.confused, "the hidden request arrived") }
    if let malformed = played.malformed.first {
      let splits = ["framing is ambiguous", "stands alone", "a NUL"].contains { malformed.contains($0) }
      return verdict(splits ? .confused : .letThrough, malformed.replacing("\r\n", with: " "))
    }
    if whole.isEmpty { return verdict(.refused) }
    guard one.mayBeForwarded else { return verdict(.letThrough, whole[0].startLine) }
    guard whole.map(\.method) == one.arrivals.map(\.method), whole.map(\.body) == one.arrivals.map(\.body) else {
      return verdict(.letThrough, "not the requests that were sent")
    }
    let names = whole.flatMap { $0.fields + $0.trailers }.map { $0.name.lowercased() }
    for name in one.without where names.contains(name) { return verdict(.letThrough, "with \(name)") }
    // How a server writes other fields is its own affair, and whether it keeps the port.
    for (name, value) in one.with where name == "host" || name == "x-forwarded-for" {
      let isThere = whole.allSatisfy { $0.value(name)?.prefix(7) == value.prefix(7) }
      if !isThere { return verdict(.letThrough, "\(name) is \(whole[0].value(name) ?? "missing")") }
    }
    return verdict(.forwarded)
  }

  private static func verdict(on one: AnswerCorpusCase, _ seen: AnswerSeen) -> Verdict {
    func verdict(_ kind: Kind, _ reason: String = "") -> Verdict {
      Verdict(label: one.label, group: "Answers: " + one.group, isRFC: false, kind: kind, reason: reason)
    }
    if let fault = seen.canaryFaults.first { return verdict(.confused, fault.replacing("\r\n", with: " ")) }
    guard let answer = seen.answer, answer.status < 500 || one.bytes.starts(with: Array("HTTP/1.1 \(answer.status)".utf8)) else {
      return verdict(.refused)
    }
    if answer.description.contains("evil") { return verdict(.confused, "what was hidden reached the client") }
    guard one.outcomes.contains(.answered(answer.status)) else { return verdict(.letThrough, answer.startLine) }
    for name in one.without where answer.value(name) != nil { return verdict(.letThrough, "with \(name)") }
    return verdict(.forwarded)
  }
}

/// The reports side by side, by group of cases.
struct OracleTable {
  private let reports: [OracleReport]

  init(_ reports: [OracleReport]) { self.reports = reports }

  var markdown: String {
    var groups: [String] = []
    for verdict in reports[0].verdicts where !groups.contains(verdict.group) { groups.append(verdict.group) }
    var lines = [row("group", "cases", reports.map(\.name)), row("---", "---:", reports.map { _ in "---:" })]
    for group in groups { lines.append(row(group) { $0.group == group }) }
    lines.append(row("**all**") { _ in true })
    lines.append(row("of these, barred by a MUST or the grammar of the RFC") { $0.isRFC })
    return lines.joined(separator: "\n") + "\n"
  }

  private func row(_ title: String, _ isCounted: (OracleReport.Verdict) -> Bool) -> String {
    let cells = reports.map { report in
      let counted = report.verdicts.filter(isCounted)
      let count = { (kind: OracleReport.Kind) in counted.filter { $0.kind == kind }.count }
      return "\(count(.refused)) · \(count(.forwarded)) · \(count(.letThrough)) · \(count(.confused))"
    }
    return row(title, "\(reports[0].verdicts.filter(isCounted).count)", cells)
  }

  private func row(_ first: String, _ second: String, _ cells: [String]) -> String {
    "| " + ([first, second] + cells).joined(separator: " | ") + " |"
  }
}
