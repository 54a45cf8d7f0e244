import Testing

@testable import EventLoop

@Suite struct TimerHeapTests {
  private let loop = EventLoop()

  private func source(at moment: UInt64, in heap: inout TimerHeap) -> Signal {
    let source = Signal(loop: loop)
    source.scheduledAt = Instant(nanoseconds: moment)
    heap.insert(source, at: source.scheduledAt)
    return source
  }

  @Test func sourcesComeOutInTheOrderOfTheirDeadlines() {
    var heap = TimerHeap()
    let moments: [UInt64] = (0..<500).map { $0 * 7_919 % 500 + 1 }
    let sources = moments.map { source(at: $0, in: &heap) }
    #expect(heap.earliest == Instant(nanoseconds: 1))
    var order: [UInt64] = []
    for now: UInt64 in [0, 250, 10_000] {
      while let due = heap.popDue(Instant(nanoseconds: now)) {
        #expect(due.scheduledAt.nanoseconds <= now)
        order.append(due.scheduledAt.nanoseconds)
      }
      #expect(order.count == min(Int(now), 500))
    }
    #expect(order == moments.sorted())
    #expect(heap.count == 0)
    withExtendedLifetime(sources) {}
  }

  @Test func anAbandonedEntryIsPassedOver() {
    var heap = TimerHeap()
    let abandoned = source(at: 1, in: &heap)
    let kept = source(at: 2, in: &heap)
    abandoned.scheduledAt = .never
    heap.noteAbandoned()
    let isKept = heap.popDue(Instant(nanoseconds: 10)) === kept
    #expect(isKept)
    #expect(heap.popDue(Instant(nanoseconds: 10)) == nil)
  }

  @Test func aSourceThatWasScheduledAnewIsNotTakenForItsOldEntry() {
    var heap = TimerHeap()
    let moved = source(at: 5, in: &heap)
    moved.scheduledAt = Instant(nanoseconds: 3)
    heap.insert(moved, at: moved.scheduledAt)
    let isMoved = heap.popDue(Instant(nanoseconds: 4)) === moved
    #expect(isMoved)
    moved.scheduledAt = .never
    #expect(heap.popDue(Instant(nanoseconds: 10)) == nil)
  }

  @Test func aHeapFullOfAbandonedEntriesIsMadeAnewWithoutThem() {
    var heap = TimerHeap()
    let sources = (1...4_000).map { source(at: UInt64($0), in: &heap) }
    for source in sources where source.scheduledAt.nanoseconds % 4 != 0 {
      source.scheduledAt = .never
      heap.noteAbandoned()
    }
    #expect(heap.count < 3_000)
    var living: [UInt64] = []
    while let due = heap.popDue(Instant(nanoseconds: 5_000)) { living.append(due.scheduledAt.nanoseconds) }
    #expect(living == (1...1_000).map { UInt64($0 * 4) })
  }
}
