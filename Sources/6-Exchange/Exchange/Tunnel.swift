import Bytes
import EventLoop
import Upstream

/// Bytes both ways between a client and a server who speak a protocol of their own, each way for itself: nothing is read before what
/// was read is written, and the end of one way is passed on while the other goes on.
struct Tunnel {
  /// Why it ended.
  enum End: String, CaseIterable {
    /// Both sides said that they send no more.
    case ended
    /// Nothing moved for the upstream's `idle_timeout`.
    case idle
    /// The route's `timeout` was over.
    case timeout
    /// The client went away, or was cut off at the end of the draining.
    case clientGone = "client_gone"
    /// The server went away.
    case upstreamGone = "upstream_gone"
  }

  /// Reads in a row before others get their turn.
  static let readsPerTurnMax = 16

  private enum Step {
    case waits(Waitable)
    case ended
    case sourceFailed
    case sinkFailed
  }

  private let connection: DownstreamConnection
  private let upstream: UpstreamConnection
  private let idleMilliseconds: Int
  private let deadline: Instant
  private var clientHasEnded = false
  private var serverHasEnded = false
  /// The server closed; what it sent before may still be on its way to the client.
  private var serverTakesNoMore = false
  /// Bytes that came from the client.
  private(set) var bytesReceived = 0

  /// A tunnel that begins with what either side has sent already.
  init(_ connection: DownstreamConnection, _ upstream: UpstreamConnection, idleMilliseconds: Int, until deadline: Instant) {
    self.connection = connection
    self.upstream = upstream
    self.idleMilliseconds = idleMilliseconds
    self.deadline = deadline
    bytesReceived = connection.input.count
    upstream.output.move(connection.input.count, from: &connection.input)
    connection.output.move(upstream.input.count, from: &upstream.input)
  }

  /// Moves bytes until the tunnel ends.
  mutating func run() async -> End {
    while true {
      let outwards = moveToServer()
      let inwards = moveToClient()
      switch (outwards, inwards) {
      case (.sourceFailed, _), (_, .sinkFailed): return .clientGone
      case (_, .sourceFailed): return .upstreamGone
      case (.ended, .ended): return serverTakesNoMore ? .upstreamGone : .ended
      case (.sinkFailed, _):
        serverTakesNoMore = true
        continue
      default: break
      }
      await connection.loop.giveWay()
      if let end = await wait(outwards, inwards) { return end }
    }
  }

  /// Waits until one way can go on; nil then. A client that is gone both ways has nobody to send to any more.
  private func wait(_ outwards: Step, _ inwards: Step) async -> End? {
    let loop = connection.loop
    let silence = loop.now.advanced(byMilliseconds: idleMilliseconds)
    let limit = min(silence, deadline)
    let gone = Waitable.hangUp(connection.socket)
    var outcome = WaitOutcome.ready(0)
    var goneAlternative = -1
    switch (outwards, inwards) {
    case (.waits(let first), .waits(let second)):
      goneAlternative = 2
      outcome = await loop.wait(for: first, or: second, or: gone, until: limit)
    case (_, .waits(let second)):
      goneAlternative = 1
      outcome = await loop.wait(for: second, or: gone, until: limit)
    case (.waits(let first), _): outcome = await loop.wait(for: first, until: limit) ? .ready(0) : .timedOut
    default: break
    }
    switch outcome {
    case .ready(goneAlternative): return .clientGone
    case .ready: return nil
    case .timedOut: return deadline <= silence ? .timeout : .idle
    }
  }

  private mutating func moveToServer() -> Step {
    if serverTakesNoMore { return .ended }
    var read = 0
    let step = Self.move(
      from: connection.socket, through: &upstream.output, to: upstream.socket, hasEnded: &clientHasEnded, bytesRead: &read)
    bytesReceived += read
    return step
  }

  private mutating func moveToClient() -> Step {
    var read = 0
    let before = connection.output.count
    let step = Self.move(
      from: upstream.socket, through: &connection.output, to: connection.socket, hasEnded: &serverHasEnded, bytesRead: &read)
    connection.note(bytesWritten: before + read - connection.output.count)
    return step
  }

  /// Moves what can be moved one way without waiting.
  private static func move(
    from source: Socket, through queue: inout ByteQueue, to sink: Socket, hasEnded: inout Bool, bytesRead: inout Int
  ) -> Step {
    for _ in 0..<readsPerTurnMax {
      switch sink.write(from: &queue) {
      case .complete: break
      case .wouldBlock: return .waits(.writable(sink))
      case .failed: return .sinkFailed
      }
      if hasEnded {
        sink.shutDownWriting()
        return .ended
      }
      switch source.read(into: &queue) {
      case .bytes(let count): bytesRead += count
      case .wouldBlock: return .waits(.readable(source))
      case .end: hasEnded = true
      case .failed: return .sourceFailed
      }
    }
    return queue.isEmpty ? .waits(.readable(source)) : .waits(.writable(sink))
  }
}
