import Bytes
import EventLoop
import HTTP
import Upstream

/// The body of a forwarded request on its way out: first what was read ahead, then what comes from the client.
struct OutgoingBody {
  /// Bytes that wait for the upstream before no more are fetched.
  static let pendingBytesMax = 64 << 10

  /// How the upstream gets it.
  let framing: BodyFraming
  /// What was read ahead, until all of it was fetched.
  private var spool: BodySpool?
  private var spoolOffset = 0
  /// What the client may send in all.
  private let bytesMax: Int
  /// Whether every byte of it was fetched.
  private(set) var hasEnded = false

  /// `clientFraming` is how it comes in; a body that was read whole goes out with its length.
  init(spool: BodySpool?, clientFraming: BodyFraming, clientBodyHasEnded: Bool, bytesMax: Int = .max) {
    if let spool, clientBodyHasEnded {
      framing = clientFraming == .none ? .none : .length(spool.byteCount)
    } else {
      framing = clientFraming
    }
    self.spool = spool
    self.bytesMax = bytesMax
  }

  /// Puts the body into `request` if it is here whole, else says that it follows.
  mutating func fill(_ request: OutgoingRequest, from connection: DownstreamConnection) {
    if let spool {
      hasEnded = connection.body.hasEnded && spool.isInMemory
      if hasEnded { spool.moveMemory(to: &request.body) }
    } else if framing.isEmpty {
      hasEnded = true
    } else if case .length(let count) = framing, connection.input.count >= count {
      // A small body nearly always comes with its head: then both leave in one write.
      _ = connection.takeBody {
        request.body.append($0)
        return true
      }
      hasEnded = true
    }
    if hasEnded { discardSpool() }
    request.bodyFollows = !hasEnded
  }

  enum Progress {
    /// A part was sent, and there may be more at once.
    case moved
    /// All of the request was sent.
    case sent
    /// The upstream takes no more now.
    case needsUpstream
    /// The upstream takes no more at all; it may have answered all the same.
    case refused
    /// More must come from the client.
    case needsClient
  }

  /// Sends what can be sent without waiting.
  mutating func advance(from connection: DownstreamConnection, to upstream: UpstreamConnection) throws(ForwardFailure) -> Progress {
    var isExhausted = false
    if !hasEnded && upstream.output.count < Self.pendingBytesMax {
      isExhausted = try !fetch(from: connection, to: &upstream.output)
    }
    switch upstream.socket.write(from: &upstream.output) {
    case .complete: return hasEnded ? .sent : isExhausted ? .needsClient : .moved
    case .wouldBlock: return .needsUpstream
    case .failed: return .refused
    }
  }

  /// Appends what is here to `output`, framed; false when nothing was.
  private mutating func fetch(from connection: DownstreamConnection, to output: inout ByteQueue) throws(ForwardFailure) -> Bool {
    if let spool, spoolOffset < spool.byteCount {
      let count = min(Self.pendingBytesMax, spool.byteCount - spoolOffset)
      guard append(count, of: spool, to: &output) else { throw .bodyUnreadable }
      spoolOffset += count
      return true
    }
    discardSpool()
    let before = output.count
    var taken = 0
    let isChunked = framing == .chunked
    let result = connection.takeBody { bytes in
      if isChunked { ChunkedEncoder.append(bytes, to: &output) } else { output.append(bytes) }
      taken += bytes.count
      return taken < Self.pendingBytesMax
    }
    if connection.bodyBytesTaken > bytesMax { throw .bodyTooLarge }
    switch result {
    case .malformed?: throw .bodyMalformed
    case .ended?:
      if isChunked { ChunkedEncoder.appendEnd(to: &output) }
      hasEnded = true
    default: break
    }
    return output.count > before || hasEnded
  }

  /// Whoever made the spool may hold it for as long as the answer takes.
  private mutating func discardSpool() {
    spool?.discard()
    spool = nil
  }

  private func append(_ count: Int, of spool: BodySpool, to output: inout ByteQueue) -> Bool {
    guard framing == .chunked else { return spool.read(count, at: spoolOffset, into: &output) }
    var part = ByteQueue()
    guard spool.read(count, at: spoolOffset, into: &part) else { return false }
    part.withReadable { ChunkedEncoder.append($0, to: &output) }
    return true
  }
}
