import Testing

@testable import Store

/// What the rules mean, without a bitmap: a set of everything that was accepted.
struct NaiveCounters {
  var highest: UInt32 = 0
  var accepted: Set<UInt32> = []

  mutating func accept(_ counter: UInt32, rule: CounterRule) -> CounterWindow.Judgement {
    if counter == 0 { return .outOfOrder }
    let age = Int(highest) - Int(counter)
    if age >= 0 {
      if age >= 1024 { return .outOfOrder }
      if accepted.contains(counter) { return .repeated }
      switch rule {
      case .strict: return .outOfOrder
      case .window(let width): if age >= width { return .outOfOrder }
      }
    }
    accepted.insert(counter)
    highest = max(highest, counter)
    return .accepted
  }
}

/// A sequence of counters that clings to the interesting places: near the highest one, at the edges of the window and of a block.
struct CounterSequence {
  var random: SeededRandom
  var start: UInt32

  mutating func next(highest: UInt32) -> (counter: UInt32, rule: CounterRule) {
    let offset: Int =
      switch UInt8.random(in: 0..<10, using: &random) {
      case 0...3: Int.random(in: -70...70, using: &random)
      case 4: Int.random(in: -1_030 ... -1_018, using: &random)
      case 5: Int.random(in: -1_100...1_100, using: &random)
      case 6: [1_022, 1_023, 1_024, 1_025, 1_031, 1_032, 1_033].randomElement(using: &random)!
      case 7: 1
      case 8: 0
      default: Int.random(in: 0...20_000, using: &random)
      }
    let base = highest == 0 ? Int(start) : Int(highest)
    let counter = UInt32(min(max(base + offset, 0), Int(UInt32.max)))
    let rule: CounterRule =
      switch UInt8.random(in: 0..<4, using: &random) {
      case 0: .strict
      case 1: .window([1, 2, 7, 8, 9, 64, 1_023, 1_024].randomElement(using: &random)!)
      default: .window(64)
      }
    return (counter, rule)
  }
}

/// SplitMix64: the same sequence in every run.
struct SeededRandom: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}

@Suite struct CounterWindowTests {
  private func judge(_ counters: [UInt32], _ rule: CounterRule) -> [CounterWindow.Judgement] {
    var window = CounterWindow()
    return counters.map { window.accept($0, rule: rule) }
  }

  @Test func strictAcceptsOnlyWhatIsGreater() {
    #expect(judge([1, 2, 2, 5, 4, 5, 6], .strict) == [.accepted, .accepted, .repeated, .accepted, .outOfOrder, .repeated, .accepted])
  }

  @Test func aWindowAcceptsEveryValueOnce() {
    #expect(judge([3, 1, 2, 1, 3, 2], .window(64)) == [.accepted, .accepted, .accepted, .repeated, .repeated, .repeated])
  }

  @Test func nothingAtOrBelowHighestMinusWindowIsAccepted() {
    #expect(judge([100, 36, 37], .window(64)) == [.accepted, .outOfOrder, .accepted])
    #expect(judge([2_000, 976, 977], .window(1_024)) == [.accepted, .outOfOrder, .accepted])
    #expect(judge([2_000, 1_999, 2_001], .window(1)) == [.accepted, .outOfOrder, .accepted])
  }

  @Test func zeroIsNeverAccepted() {
    #expect(judge([0], .window(1_024)) == [.outOfOrder])
    #expect(judge([0], .strict) == [.outOfOrder])
    #expect(judge([1, 0], .window(1_024)) == [.accepted, .outOfOrder])
  }

  @Test func theLargestCounterIsAcceptedOnce() {
    #expect(judge([1, .max, .max, .max - 1], .window(64)) == [.accepted, .accepted, .repeated, .accepted])
  }

  @Test func whatAStrictRouteAcceptedAWindowDoesNotAcceptAgain() {
    var window = CounterWindow()
    #expect(window.accept(10, rule: .strict) == .accepted)
    #expect(window.accept(12, rule: .strict) == .accepted)
    #expect(window.accept(10, rule: .window(64)) == .repeated)
    #expect(window.accept(11, rule: .window(64)) == .accepted)
  }

  @Test func aJumpOfManyWindowsForgetsNothingThatStillCounts() {
    var window = CounterWindow()
    for counter: UInt32 in 1...2_000 { #expect(window.accept(counter, rule: .strict) == .accepted) }
    #expect(window.accept(1_000_000, rule: .window(64)) == .accepted)
    for counter: UInt32 in 999_937...999_999 { #expect(window.accept(counter, rule: .window(64)) == .accepted) }
  }

  @Test(arguments: [0, 1, 1_000, 1_031, 2_000_000_000, UInt32.max - 30_000])
  func randomSequencesAreJudgedAsByASet(start: UInt32) {
    var window = CounterWindow()
    var naive = NaiveCounters()
    var sequence = CounterSequence(random: SeededRandom(state: UInt64(start) + 1), start: start)
    for step in 0..<20_000 {
      let (counter, rule) = sequence.next(highest: naive.highest)
      let expected = naive.accept(counter, rule: rule)
      let judged = window.accept(counter, rule: rule)
      guard judged == expected, window.highest == naive.highest else {
        Issue.record("step \(step): \(counter) under \(rule) with \(naive.highest): \(judged), not \(expected)")
        return
      }
    }
  }
}
