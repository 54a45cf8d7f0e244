import Fixtures
import Synchronization
import Testing

/// The corpus of hostile answers, played through the built gate: what is no answer, or can be read in two ways, never reaches a client as
/// one, and the connection it came on serves no other request.
@Suite struct AnswerCorpusTests {
  @Test func hasAtLeast60Cases() throws {
    let cases = try AnswerCorpusCase.all()
    #expect(cases.count >= 60)
    #expect(Set(cases.map(\.label)).count == cases.count, "two cases have one name")
  }

  @Test(.timeLimit(.minutes(3))) func everyAnswerMeetsOneOfItsOutcomesAndItsConnectionIsNotReused() throws {
    let cases = try AnswerCorpusCase.all()
    let hostile = HostileUpstream(cases)
    try withProxy(script: { try hostile.answer($0) }) { gate, _ in
      for (index, one) in cases.enumerated() {
        let seen = try AnswerSeen(port: gate.port, target: "/answers/\(index)", method: one.method)
        var faults = seen.canaryFaults
        if !one.outcomes.contains(where: { seen.is($0) }) { faults.append("none of its outcomes: \(one.outcomes)") }
        if let answer = seen.answer {
          if answer.description.contains("evil") { faults.append("what was hidden in it reached the client") }
          let fields = (answer.fields + answer.interim.flatMap(\.fields)).map { $0.name.lowercased() }
          for name in one.without where fields.contains(name) { faults.append("the field \(name) was passed on") }
        }
        if one.end == .stay, !one.mayReuse, !eventually(within: 5_000, { hostile.end(of: index) != nil }) {
          faults.append("the gate did not hang up")
        }
        if hostile.end(of: index) == .reused { faults.append("another request was sent on the connection") }
        #expect(faults.isEmpty, "\(one.label): \(faults.joined(separator: "; "))\n\(seen)")
      }
    }
  }
}

/// An upstream that answers `/answers/N` with the bytes of case N, and everything else as it should.
final class HostileUpstream: Sendable {
  enum ConnectionEnd: Sendable { case hungUp, reused }

  private let cases: [AnswerCorpusCase]
  private let servesOn: Bool
  private let ends = Mutex([Int: ConnectionEnd]())

  /// `servesOn` is for servers that may reuse any connection: it serves what comes next on it too.
  init(_ cases: [AnswerCorpusCase], servesOn: Bool = false) {
    self.cases = cases
    self.servesOn = servesOn
  }

  /// What became of the connection behind a case that leaves it open.
  func end(of index: Int) -> ConnectionEnd? { ends.withLock { $0[index] } }

  /// The script.
  func answer(_ exchange: UpstreamExchange) throws {
    guard exchange.target.hasPrefix("/answers/"), let index = Int(exchange.target.dropFirst(9)) else {
      return try CorpusPlayer.echo(exchange)
    }
    try exchange.readBody()
    // The gate may hang up before it has all of a flood.
    try? exchange.connection.send(cases[index].bytes)
    switch cases[index].end {
    case .close: exchange.close()
    case .reset: exchange.reset()
    case .stay where cases[index].mayReuse || servesOn: break
    case .stay:
      let next = try? exchange.connection.readSome()
      ends.withLock { $0[index] = next?.isEmpty == false ? .reused : .hungUp }
      exchange.close()
    }
  }
}

/// What a client sees of one hostile answer, and of two canaries behind it on the same connection and on another.
struct AnswerSeen: CustomStringConvertible {
  private(set) var answer: RawMessage?
  private var failure: String?
  private(set) var canaryFaults: [String] = []

  init(port: UInt16, target: String, method: String) throws {
    let connection = try RawConnection(port: port, timeoutMilliseconds: 5_000)
    defer { connection.close() }
    var head: RawMessage?
    do {
      try connection.send("\(method) \(target) HTTP/1.1\r\nHost: gate.test\r\n\r\n")
      let answer = try connection.readAnswer(to: method)
      head = answer
      if answer.value("Connection") != "close" { playCanaries(on: connection, behind: target) }
    } catch {
      failure = "\(error)"
    }
    answer = head
    playCanaries(on: try RawConnection(port: port, timeoutMilliseconds: 5_000), behind: target)
  }

  /// Whether this is what came of it. A problem document is the gate's own answer; no case sends one.
  func `is`(_ outcome: AnswerCorpusCase.Outcome) -> Bool {
    switch outcome {
    case .answered(502): answer.map { $0.status == 502 && ($0.body.isEmpty || (try? problem(in: $0)) != nil) } ?? false
    case .answered(let status): answer?.status == status
    case .cut: answer == nil && failure != nil && failure?.contains("nothing came") == false
    }
  }

  var description: String { "answer: \(answer?.description.prefix(300) ?? "none"), failure: \(failure ?? "none")" }

  private mutating func playCanaries(on connection: RawConnection, behind target: String) {
    for number in 1...2 {
      let canary = "/canary\(target)/\(number)"
      do {
        let answer = try connection.exchange("GET \(canary) HTTP/1.1\r\nHost: canary.test\r\n\r\n")
        if answer.text != "GET \(canary)" { canaryFaults.append("\(canary) was answered: \(answer)") }
      } catch {
        canaryFaults.append("\(canary): \(error)")
      }
    }
  }
}
