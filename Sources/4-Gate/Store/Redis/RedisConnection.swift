import Bytes
import EventLoop

/// One connection to Redis: commands go out in order, the replies come back in that order.
///
/// Commands of one turn of the loop leave in one write: a command only queues its bytes and wakes ``pump(for:until:)``,
/// which runs after the others. Whatever leaves doubt about the order of the replies (a time-out, a malformed reply, one that nobody
/// asked for) closes the connection and fails all that is in flight.
final class RedisConnection {
  private let loop: EventLoop
  private let socket: Socket
  private let timeoutMilliseconds: Int
  /// Set once the connection was introduced: what it says then is not counted.
  var inFlightMax = Int.max
  private let reader = ReplyReader()
  private let outgoing: Signal

  /// What changes with every command, behind one guard.
  private struct Traffic: ~Copyable {
    var output = ByteQueue()
    /// Bytes that were ever queued.
    var queuedBytes: UInt64 = 0
    var inFlight = PendingQueue()

    mutating func queue(until deadline: Instant, loop: EventLoop, _ write: (inout ByteQueue) -> Void) -> PendingReply {
      let pending = PendingReply(start: queuedBytes, deadline: deadline, loop: loop)
      let before = output.count
      write(&output)
      queuedBytes += UInt64(output.count - before)
      inFlight.append(pending)
      return pending
    }
  }

  private let traffic = Guarded(Traffic())
  private var input = ByteQueue()
  /// Bytes that the kernel took.
  private var writtenBytes: UInt64 = 0

  /// Why it was closed; nil while it is open.
  private(set) var closeReason: String?

  init(socket: Socket, settings: RedisSettings, loop: EventLoop) {
    self.socket = socket
    self.loop = loop
    timeoutMilliseconds = settings.timeoutMilliseconds
    outgoing = Signal(loop: loop)
  }

  /// Commands that wait for their replies.
  var inFlightCount: Int { traffic.value.inFlight.count }

  /// Bytes that the kernel has not taken yet.
  var unwrittenByteCount: Int { traffic.value.output.count }

  /// Queues the command that `write` writes, whole. Throws when the connection is closed or full; nothing was sent then.
  func send(_ write: (inout ByteQueue) -> Void) throws(StoreFailure) -> PendingReply {
    assert(loop.isCurrent, "a connection is confined to its loop")
    if let closeReason { throw StoreFailure(outcomeUnknown: false, reason: closeReason) }
    guard inFlightCount < inFlightMax else {
      throw StoreFailure(outcomeUnknown: false, reason: "\(inFlightMax) commands are waiting for Redis already")
    }
    let deadline = loop.now.advanced(byMilliseconds: timeoutMilliseconds)
    let pending = traffic.value.queue(until: deadline, loop: loop, write)
    outgoing.notify()
    return pending
  }

  /// Writes, reads and hands out replies until the connection is closed, `deadline` passes, or `awaited` has its outcome.
  func pump(for awaited: PendingReply?, until deadline: Instant) async {
    var isBlocked = false
    while true {
      outgoing.reset()
      if !isBlocked && unwrittenByteCount > 0 { isBlocked = writeOut() }
      readIn()
      guard closeReason == nil, awaited?.outcome == nil else { return }
      let limit = min(oldestDeadline ?? .never, deadline)
      let outcome =
        isBlocked
        ? await loop.wait(for: .readable(socket), or: .writable(socket), until: limit)
        : await loop.wait(for: .readable(socket), or: .signal(outgoing), until: limit)
      if outcome == .ready(1) { isBlocked = false }
      guard outcome == .timedOut else { continue }
      if oldestDeadline ?? .never <= loop.now {
        close("Redis did not answer within \(timeoutMilliseconds) ms")
      } else if deadline <= loop.now {
        return
      }
    }
  }

  private var oldestDeadline: Instant? { traffic.value.inFlight.first?.deadline }

  /// Closes and fails everything in flight. A command of which a byte was written may have been carried out.
  func close(_ reason: String) {
    guard closeReason == nil else { return }
    closeReason = reason
    socket.close()
    outgoing.notify()
    while let pending = traffic.value.inFlight.popFirst() {
      pending.settle(.lost(StoreFailure(outcomeUnknown: writtenBytes > pending.start, reason: reason)))
    }
    traffic.value.output.removeAll()
    traffic.value.output.releaseStorageIfEmpty()
  }

  /// Whether the kernel takes no more now.
  private func writeOut() -> Bool {
    let before = unwrittenByteCount
    let outcome = socket.write(from: &traffic.value.output)
    writtenBytes += UInt64(before - unwrittenByteCount)
    switch outcome {
    case .complete: return false
    case .wouldBlock: return true
    case .failed(let error):
      close("writing to Redis failed: \(KernelError.text(error))")
      return false
    }
  }

  private func readIn() {
    while closeReason == nil && socket.hasSomethingToRead {
      switch socket.read(into: &input) {
      case .bytes:
        input.withReadable { reader.feed($0) }
        input.removeAll()
        handOut()
      case .wouldBlock: return
      case .end: close("Redis closed the connection")
      case .failed(let error): close("reading from Redis failed: \(KernelError.text(error))")
      }
    }
  }

  private func handOut() {
    while closeReason == nil {
      switch reader.next() {
      case .incomplete: return
      case .malformed(let reason): close("a malformed reply of Redis: \(reason)")
      case .reply(let reply):
        guard let pending = traffic.value.inFlight.popFirst() else { return close("Redis sent a reply that nothing asked for") }
        pending.settle(.reply(reply))
        if let message = reply.errorMessage, Self.endsConnection(message) { close("Redis answers \(message)") }
      }
    }
  }

  /// A replica or a server that still loads its data: another may be reached by connecting anew. Redis 6 wraps the word when a script met it.
  private static func endsConnection(_ message: String) -> Bool {
    message.hasPrefix("READONLY") || message.hasPrefix("LOADING") || message.contains("-READONLY") || message.hasPrefix("MASTERDOWN")
  }
}

/// Commands in flight, oldest first: a ring.
struct PendingQueue {
  private var slots = [PendingReply?](repeating: nil, count: 64)
  private var head = 0
  private(set) var count = 0

  var first: PendingReply? { count == 0 ? nil : slots[head] }

  mutating func append(_ pending: PendingReply) {
    if count == slots.count { grow() }
    slots[(head + count) & (slots.count - 1)] = pending
    count += 1
  }

  mutating func popFirst() -> PendingReply? {
    guard count > 0 else { return nil }
    defer {
      slots[head] = nil
      head = (head + 1) & (slots.count - 1)
      count -= 1
    }
    return slots[head]
  }

  private mutating func grow() {
    let old = slots.count
    var larger = [PendingReply?](repeating: nil, count: old * 2)
    for index in 0..<count { larger[index] = slots[(head + index) & (old - 1)] }
    slots = larger
    head = 0
  }
}
