import Fixtures

/// Plays raw bytes to a server that stands before a recording upstream, with two canaries behind them on the same connection and two on
/// another: what the bytes have left behind anywhere shows in the canaries' answers.
final class CorpusPlayer {
  /// What became of one case.
  struct Played {
    /// The server's answers, without the canaries'.
    var answers: [RawMessage] = []
    /// Why nothing more could be read: no HTTP, or nothing in time.
    var failure: String?
    /// Whether the server ended the connection.
    var hasEnded = false
    /// Whether both canaries on the same connection were answered.
    var hasGoneOn = false
    /// What reached the upstream, the canaries left out.
    var arrived: [ScriptedUpstream.Request] = []
    /// What reached it and is no strict HTTP/1.1.
    var malformed: [String] = []
    /// Canaries that got another answer than their own.
    var canaryFaults: [String] = []

    var whole: [ScriptedUpstream.Request] { arrived.filter(\.isComplete) }
  }

  private let port: UInt16
  private let upstream: ScriptedUpstream
  private let patienceMilliseconds: Int
  private let piece: Int
  private var number = 0

  /// `patienceMilliseconds` is how long an answer is waited for, `piece` how many bytes are sent in one write.
  init(port: UInt16, upstream: ScriptedUpstream, patienceMilliseconds: Int, piece: Int = Int.max) {
    self.port = port
    self.upstream = upstream
    self.patienceMilliseconds = patienceMilliseconds
    self.piece = piece
  }

  /// The upstream's answer to everything: what it was asked.
  static func echo(_ exchange: UpstreamExchange) throws {
    try exchange.readBody()
    try exchange.answer("\(exchange.request.method) \(exchange.target)")
  }

  /// Plays one case. `method` is that of its first request.
  func play(_ bytes: [UInt8], method: String, endsSending: Bool = false) throws -> Played {
    number += 1
    let requestsBefore = upstream.requests.count
    let malformedBefore = upstream.malformed.count
    var played = Played()
    let connection = try RawConnection(port: port, timeoutMilliseconds: patienceMilliseconds)
    let sender = send(bytes, on: connection, endsSending: endsSending)
    readAnswers(on: connection, method: method, endsSending: endsSending, into: &played)
    if sender != nil { connection.interrupt() }
    sender?.join()
    connection.close()
    try playCanaries(into: &played)
    played.arrived = upstream.requests.dropFirst(requestsBefore).filter { !$0.message.target.contains("/canary/") }
    played.malformed = Array(upstream.malformed.dropFirst(malformedBefore))
    return played
  }

  /// What would not fit the kernel's buffers is sent by a thread, so that the answer can be read meanwhile.
  private func send(_ bytes: [UInt8], on connection: RawConnection, endsSending: Bool) -> TestThread? {
    if bytes.count > 16_384 { return TestThread { try? connection.send(bytes) } }
    for start in stride(from: 0, to: bytes.count, by: min(piece, bytes.count)) {
      try? connection.send(Array(bytes[start...].prefix(piece)))
    }
    if endsSending { connection.closeWriting() }
    return nil
  }

  private func readAnswers(on connection: RawConnection, method: String, endsSending: Bool, into played: inout Played) {
    let canaries = [canary("same-1"), canary("same-2")]
    var next = method
    var answered = 0
    do {
      while answered < canaries.count {
        let answer = try connection.readAnswer(to: next)
        if answer.text == "GET \(canaries[answered])" { answered += 1 } else { played.answers.append(answer) }
        next = "GET"
        if answer.value("Connection")?.lowercased() == "close" { break }
        if played.answers.count == 1, answered == 0, !endsSending { try? connection.send(canaries.map(request).joined()) }
      }
      played.hasGoneOn = answered == canaries.count
      if !played.hasGoneOn { played.hasEnded = (try? connection.endsNow()) ?? false }
    } catch is ConnectionReset {
      played.hasEnded = true
    } catch {
      played.failure = "\(error)"
      played.hasEnded = played.failure?.contains("the connection ended before an answer") == true
    }
  }

  private func playCanaries(into played: inout Played) throws {
    let connection = try RawConnection(port: port, timeoutMilliseconds: 5_000)
    defer { connection.close() }
    for name in ["other-1", "other-2"] {
      let target = canary(name)
      do {
        let answer = try connection.exchange(request(target))
        if answer.text != "GET \(target)" { played.canaryFaults.append("\(target) was answered: \(answer)") }
      } catch {
        played.canaryFaults.append("\(target): \(error)")
      }
    }
  }

  private func canary(_ name: String) -> String { "/canary/\(number)-\(name)" }

  private func request(_ target: String) -> String { "GET \(target) HTTP/1.1\r\nHost: canary.test\r\n\r\n" }
}
