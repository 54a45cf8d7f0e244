import Fixtures
import Testing

/// The corpus of raw requests, played through the built gate: nothing that can be read in two ways is passed on, and what is passed on
/// arrives once, whole and well-formed.
@Suite struct RequestCorpusTests {
  /// What is for one connection alone, or the gate's own word: never passed on, whatever the request was.
  static let neverArrives = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "http2-settings", "proxy-authorization", "expect",
  ]

  /// Whether a field is what the gate says of an unsigned request on a monitored route.
  private static func isGatesWord(_ name: String, _ value: String) -> Bool {
    name == "x-app-attest-reason" || name == "x-app-attest-status" && value == "unverified"
  }

  @Test func hasAtLeast200CasesEachWithItsOutcomes() throws {
    let cases = try RequestCorpusCase.all()
    #expect(cases.count >= 200)
    #expect(Set(cases.map(\.label)).count == cases.count, "two cases have one name")
  }

  /// The mode of the route that takes everything but `/gated`, and how the bytes are sent.
  @Test(.timeLimit(.minutes(3)), arguments: [("off", false), ("monitor", false), ("off", true)])
  func everyRequestMeetsOneOfItsOutcomesAndLeavesNothingBehind(mode: String, isSentByteByByte: Bool) throws {
    let cases = try RequestCorpusCase.all().filter { !isSentByteByByte || $0.bytes.count <= 1_000 }
    let routes = """
      - {path: "/gated/**", upstream: api, gate: enforce}
        - {path: "/**", upstream: api, gate: \(mode)}
      """
    try withProxy(script: CorpusPlayer.echo, routes: routes) { gate, upstream in
      let player = CorpusPlayer(
        port: gate.port, upstream: upstream, patienceMilliseconds: 5_000, piece: isSentByteByByte ? 1 : Int.max)
      for one in cases {
        let played = try player.play(one.bytes, method: one.method, endsSending: one.endsSending)
        let faults = Self.faults(of: one, played)
        #expect(faults.isEmpty, "\(one.label): \(faults.joined(separator: "; "))\n\(Self.summary(played))")
      }
    }
  }

  /// What is wrong with what became of a case.
  static func faults(of one: RequestCorpusCase, _ played: CorpusPlayer.Played) -> [String] {
    var faults = played.canaryFaults + played.malformed.map { "the upstream got what is no strict HTTP/1.1: \($0)" }
    if !one.outcomes.contains(where: { holds($0, for: one, played) }) { faults.append("none of its outcomes: \(one.outcomes)") }
    let parts = played.arrived.filter { !$0.isComplete }
    if parts.contains(where: { $0.message.target != RequestCorpusCase.begunTarget }) { faults.append("a part of it reached the upstream") }
    for request in played.whole { faults += fieldFaults(of: request.message, one) }
    return faults
  }

  private static func holds(_ outcome: RequestCorpusCase.Outcome, for one: RequestCorpusCase, _ played: CorpusPlayer.Played) -> Bool {
    switch outcome {
    case .forwarded(let closes):
      return isForwarded(one, played) && (!closes || played.hasEnded)
    case .answered(let status, let closes):
      guard played.whole.isEmpty, played.answers.count == 1, let answer = played.answers.first, answer.status == status
      else { return false }
      // A 100 would have asked for the body of a request that is then refused.
      guard answer.interim.isEmpty, status < 400 || answer.body.isEmpty || (try? problem(in: answer)) != nil else { return false }
      let saysClose = answer.value("Connection") == "close"
      return saysClose == played.hasEnded && (saysClose || played.hasGoneOn) && (!closes || saysClose)
    case .closed: return played.whole.isEmpty && played.answers.isEmpty && played.hasEnded
    }
  }

  /// Whether exactly the expected requests arrived, each answered with its own answer; then at most one refusal, of what came behind.
  private static func isForwarded(_ one: RequestCorpusCase, _ played: CorpusPlayer.Played) -> Bool {
    let arrived = played.whole.map {
      RequestCorpusCase.Arrival(method: $0.message.method, target: $0.message.target, body: $0.message.body)
    }
    guard arrived == one.arrivals, played.answers.count >= arrived.count else { return false }
    for (answer, request) in zip(played.answers, arrived) {
      guard answer.status == 200, request.method == "HEAD" || answer.text == "\(request.method) \(request.target)" else { return false }
    }
    let further = played.answers.dropFirst(arrived.count)
    guard let refusal = further.first else { return played.hasGoneOn || played.hasEnded }
    return further.count == 1 && refusal.status >= 400 && played.hasEnded
  }

  private static func fieldFaults(of request: RawMessage, _ one: RequestCorpusCase) -> [String] {
    var faults: [String] = []
    for (name, value) in (request.fields + request.trailers).map({ ($0.name.lowercased(), $0.value) }) {
      let isForged = name.hasPrefix("x-app-attest-") && !isGatesWord(name, value)
      if name.contains("_") || isForged || neverArrives.contains(name) { faults.append("the field \(name) was passed on") }
      if one.without.contains(name), !isGatesWord(name, value) { faults.append("the field \(name) was passed on") }
      if one.withoutValues.contains(where: { $0 == (name, value) }) { faults.append("the value of \(name) was passed on") }
    }
    for (name, value) in one.with where request.value(name) != value { faults.append("\(name) is not \(value)") }
    return faults
  }

  private static func summary(_ played: CorpusPlayer.Played) -> String {
    let arrived = played.arrived.map { "arrived\($0.isComplete ? "" : " in part"): \($0)" }
    let answers = played.answers.map { "answer: \($0.startLine) \($0.value("Connection") ?? "")" }
    return (arrived + answers + ["failure: \(played.failure ?? "none"), ended: \(played.hasEnded), went on: \(played.hasGoneOn)"])
      .joined(separator: "\n")
  }
}
