import Bytes
import EventLoop
import HTTP
import Upstream

/// Where the bytes of a forwarded body come from: first what was read ahead, then the client.
struct OutgoingBody {
  /// Bytes that wait for the upstream before no more are fetched.
  static let pendingBytesMax = 64 << 10

  private let spool: BodySpool?
  private var spoolOffset = 0
  /// How the upstream gets it.
  let framing: BodyFraming
  private var needsLastChunk = false

  /// `clientFraming` is how it comes in; a body that was read whole goes out with its length.
  init(spool: BodySpool?, clientFraming: BodyFraming, clientBodyHasEnded: Bool) {
    self.spool = spool
    if let spool, clientBodyHasEnded {
      framing = clientFraming == .none ? .none : .length(spool.byteCount)
    } else {
      framing = clientFraming
    }
    needsLastChunk = framing == .chunked
  }

  /// Puts the body into `request` if it is here whole, else says that it follows.
  mutating func fill(_ request: OutgoingRequest, from connection: DownstreamConnection) {
    if let spool {
      if connection.body.hasEnded && spool.isInMemory {
        spool.moveMemory(to: &request.body)
        spoolOffset = spool.byteCount
        return
      }
    } else if framing.isEmpty {
      return
    } else if case .length(let count) = framing, connection.input.count >= count {
      // A small body nearly always comes with its head: then both leave in one write.
      _ = connection.takeBody {
        request.body.append($0)
        return true
      }
      return
    }
    request.bodyFollows = true
  }

  enum Fetch {
    /// Something was appended.
    case appended
    /// Nothing is here now: wait for the client.
    case nothing
    /// All of it was appended.
    case ended
    case malformed
    /// The disk failed.
    case failed
  }

  /// Appends what is here to `output`, framed.
  mutating func fetch(from connection: DownstreamConnection, to output: inout ByteQueue) -> Fetch {
    if let spool, spoolOffset < spool.byteCount {
      let count = min(Self.pendingBytesMax, spool.byteCount - spoolOffset)
      guard appendSpooled(count, of: spool, to: &output) else { return .failed }
      spoolOffset += count
      return .appended
    }
    let before = output.count
    var pending = 0
    let isChunked = framing == .chunked
    let result = connection.takeBody { bytes in
      if isChunked { ChunkedEncoder.append(bytes, to: &output) } else { output.append(bytes) }
      pending += bytes.count
      return pending < Self.pendingBytesMax
    }
    switch result {
    case .malformed?: return .malformed
    case .ended?:
      if needsLastChunk { ChunkedEncoder.appendEnd(to: &output) }
      needsLastChunk = false
      return .ended
    default: return output.count > before ? .appended : .nothing
    }
  }

  private func appendSpooled(_ count: Int, of spool: BodySpool, to output: inout ByteQueue) -> Bool {
    guard framing == .chunked else { return spool.read(count, at: spoolOffset, into: &output) }
    var part = ByteQueue()
    guard spool.read(count, at: spoolOffset, into: &part) else { return false }
    part.withReadable { ChunkedEncoder.append($0, to: &output) }
    return true
  }
}
