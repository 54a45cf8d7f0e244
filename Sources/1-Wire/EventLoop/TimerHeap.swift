/// Deadlines in a binary heap. An entry is true only if its source still says that it is scheduled for that moment.
struct TimerHeap {
  private struct Entry {
    var deadline: Instant
    var source: WaitSource
  }

  private var entries: [Entry] = []
  private var abandoned = 0

  /// The first deadline, which may be an abandoned one.
  var earliest: Instant? { entries.first?.deadline }

  /// Number of entries, abandoned ones included.
  var count: Int { entries.count }

  mutating func insert(_ source: WaitSource, at deadline: Instant) {
    entries.append(Entry(deadline: deadline, source: source))
    siftUp(entries.count - 1)
  }

  /// The next source whose entry is true and due.
  mutating func popDue(_ now: Instant) -> WaitSource? {
    while let first = entries.first, first.deadline <= now {
      removeFirst()
      if first.source.scheduledAt == first.deadline { return first.source }
      abandoned = max(0, abandoned - 1)
    }
    return nil
  }

  /// A source was closed before its time: when most entries are such, the heap is made anew, so that short connections do not pile up.
  mutating func noteAbandoned() {
    abandoned += 1
    guard abandoned > 1024, abandoned > entries.count / 2 else { return }
    let living = entries.filter { $0.source.scheduledAt == $0.deadline }
    entries.removeAll(keepingCapacity: true)
    for entry in living { insert(entry.source, at: entry.deadline) }
    abandoned = 0
  }

  private mutating func removeFirst() {
    let last = entries.removeLast()
    guard !entries.isEmpty else { return }
    entries[0] = last
    siftDown()
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].deadline < entries[parent].deadline else { return }
      entries.swapAt(index, parent)
      index = parent
    }
  }

  private mutating func siftDown() {
    var index = 0
    while true {
      var smallest = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
        if entries[child].deadline < entries[smallest].deadline { smallest = child }
      }
      guard smallest != index else { return }
      entries.swapAt(index, smallest)
      index = smallest
    }
  }
}
