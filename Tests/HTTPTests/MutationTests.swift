import Bytes
import HTTP
import Testing

/// A generator whose numbers are the same in every run.
private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// Bytes that matter to a parser more often than others.
private let weightyBytes = Array("\r\n\0\t :;,=\"\\/?#@*[]%-_+0123456789aAfFxX\u{7F}\u{E9}".utf8)

/// Fragments that matter to a parser more often than others.
private let weightyTexts = [
  "\r\n", "\r\n\r\n", "Content-Length: 1\r\n", "Transfer-Encoding: chunked\r\n", "Host: a\r\n", "Connection: x-a\r\n", " HTTP/1.1",
  "chunked",
  "X_App_Attest_Status: a\r\n", "http://a", "[::1]",
].map { Array($0.utf8) }

private func mutated(_ original: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
  var bytes = original
  for _ in 0..<Int.random(in: 1...3, using: &generator) {
    let position = Int.random(in: 0...bytes.count, using: &generator)
    switch Int.random(in: 0..<5, using: &generator) {
    case 0 where position < bytes.count: bytes[position] = weightyBytes.randomElement(using: &generator) ?? 0
    case 1 where position < bytes.count: bytes[position] = UInt8.random(in: 0...255, using: &generator)
    case 2 where position < bytes.count: bytes.remove(at: position)
    case 3: bytes.insert(contentsOf: weightyTexts.randomElement(using: &generator) ?? [], at: position)
    default: bytes.insert(weightyBytes.randomElement(using: &generator) ?? 0, at: position)
    }
  }
  return bytes
}

/// Whatever comes in, nothing traps, and what is taken means the same after it has been written and read again.
@Suite struct MutationTests {
  @Test(arguments: 0..<8)
  func whatARequestMeansSurvivesWriting(seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    let head = RequestHead()
    let again = RequestHead()
    var taken = 0
    for _ in 0..<2_500 {
      let original = validRequests.randomElement(using: &generator)?.text ?? ""
      let bytes = mutated(Array(original.utf8), &generator)
      head.reset()
      guard case .complete(let count) = head.parse(bytes.span, limits: HeadLimits()) else { continue }
      #expect(count <= bytes.count)
      let before = head.summary
      let policy = FieldPolicy(underscores: .keep)
      let written = head.written(policy: policy)
      if written.hasPrefix("refused: ") { continue }
      taken += 1
      guard case .complete(written.utf8.count) = again.parse(written) else {
        Issue.record("\(bytes) was written as \(written.debugDescription)")
        return
      }
      let after = again.summary
      #expect(after.method == before.method)
      #expect(after.target == before.target)
      #expect(after.host == before.host ?? "upstream")
      #expect(after.framing == before.framing)
      // What is written for an upstream is left as it is when it is written once more.
      #expect(again.written(policy: policy) == written)
    }
    #expect(taken > 100)
  }

  @Test(arguments: 8..<14)
  func anySplitOfAMutatedHeadIsJudgedAlike(seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    let head = RequestHead()
    for _ in 0..<1_000 {
      let original = (validRequests + refusedRequests).randomElement(using: &generator)?.text ?? ""
      let bytes = mutated(Array(original.utf8), &generator)
      let whole = head.parse(bytes.span, limits: HeadLimits())
      head.reset()
      var outcome = HeadOutcome.incomplete
      var count = 0
      while outcome == .incomplete, count < bytes.count {
        count = min(bytes.count, count + Int.random(in: 1...40, using: &generator))
        outcome = head.parse(Array(bytes.prefix(count)).span, limits: HeadLimits())
      }
      #expect(outcome == whole, "\(bytes)")
      head.reset()
    }
  }

  @Test(arguments: 14..<18)
  func whatAnAnswerMeansSurvivesWriting(seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    let head = ResponseHead()
    let again = ResponseHead()
    var taken = 0
    for _ in 0..<2_500 {
      let original = validResponses.randomElement(using: &generator)
      let method = original?.method ?? .get
      let bytes = mutated(Array((original?.text ?? "").utf8), &generator)
      head.reset()
      guard case .complete(let count) = head.parse(bytes.span, answering: method, limits: HeadLimits()) else { continue }
      #expect(count <= bytes.count)
      guard !head.isInterim else { continue }
      taken += 1
      again.reset()
      let written = head.written(isPrivate: seed % 2 == 0)
      guard case .complete(written.utf8.count) = again.parse(written, answering: method) else {
        Issue.record("\(bytes) was written as \(written.debugDescription)")
        return
      }
      #expect(again.status == head.status)
      #expect(again.framing == head.framing(forClient: .http11))
    }
    #expect(taken > 100)
  }

  @Test(arguments: 18..<24)
  func anySplitOfAMutatedBodyIsDecodedAlike(seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    for _ in 0..<600 {
      let original = (validBodies + malformedBodies).filter { $0.text.utf8.count < 500 }.randomElement(using: &generator)?.text ?? ""
      let bytes = mutated(Array(original.utf8), &generator)
      let whole = decode(.chunked, pieces: [bytes])
      var pieces = [[UInt8]]()
      var rest = bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(Int.random(in: 1...20, using: &generator))
        pieces.append(Array(piece))
        rest = rest.dropFirst(piece.count)
      }
      let split = decode(.chunked, pieces: pieces)
      #expect(split.content == whole.content, "\(bytes)")
      let bothNeedMore = if case (.needMore, .needMore) = (split.end, whole.end) { true } else { false }
      #expect(bothNeedMore || split.end == whole.end, "\(bytes)")
      #expect(whole.consumed <= bytes.count)
    }
  }
}
