public import Bytes

/// Why a body is refused: where it ends can no longer be told, so the connection ends with it.
public enum BodyFault: Sendable, Equatable {
  /// Not 1 to 16 hexadecimal digits, or followed by anything but an extension or CRLF (RFC 9112 section 7.1).
  case chunkSizeMalformed
  /// Beyond 2^63 - 1.
  case chunkSizeTooLarge
  /// A control in a chunk extension.
  case chunkExtensionMalformed
  /// More than 256 bytes of extensions to one chunk, or 4 KiB to one message.
  case chunkExtensionsTooLong
  /// The chunk's data is not followed by CRLF.
  case chunkNotTerminated
  /// A trailer that would not be taken as a field (RFC 9112 section 7.1.2).
  case trailerMalformed
  /// More bytes or lines of trailers than a head may have.
  case trailersTooLarge
  /// The input ended before the body did.
  case cutShort
}

/// What the next bytes of a body are.
public enum BodyEvent: Sendable, Equatable {
  /// Content, in the bytes that were lent. `consumed` ends with it.
  case data(ByteRange, consumed: Int)
  /// Everything lent was taken, the body goes on.
  case needMore(consumed: Int)
  /// The body has ended behind the bytes consumed.
  case end(consumed: Int)
  /// The body is refused.
  case malformed(BodyFault)
}

/// The one place that decides where a body ends. It lends out ranges and copies nothing; what it consumed it does not need again.
///
/// Chunk extensions and trailers are checked and dropped (RFC 9112 section 7.1): they may come from anybody behind the sender.
public struct BodyDecoder: Sendable {
  private let framing: BodyFraming
  private var remaining: Int
  private var chunks: ChunkedDecoder

  /// A decoder for one body; `limits` bound its trailers.
  public init(_ framing: BodyFraming, limits: HeadLimits = HeadLimits()) {
    self.framing = framing
    remaining = if case .length(let count) = framing { count } else { 0 }
    chunks = ChunkedDecoder(trailerBytesMax: limits.headBytesMax, trailerCountMax: limits.fieldCountMax)
  }

  /// Whether the body's last byte has been consumed.
  public var hasEnded: Bool {
    switch framing {
    case .none: true
    case .length: remaining == 0
    case .chunked: chunks.hasEnded
    case .untilClose: false
    }
  }

  /// Takes the next part of the body from `bytes`, which begin where the last call's `consumed` ended.
  public mutating func next(in bytes: Span<UInt8>) -> BodyEvent {
    switch framing {
    case .none: return .end(consumed: 0)
    case .untilClose:
      guard !bytes.isEmpty else { return .needMore(consumed: 0) }
      return .data(ByteRange(start: 0, count: bytes.count), consumed: bytes.count)
    case .length:
      guard remaining > 0 else { return .end(consumed: 0) }
      guard !bytes.isEmpty else { return .needMore(consumed: 0) }
      let count = min(remaining, bytes.count)
      remaining -= count
      return .data(ByteRange(start: 0, count: count), consumed: count)
    case .chunked: return chunks.next(in: bytes)
    }
  }

  /// What it means that the input has ended.
  public func atEndOfInput() -> BodyEvent {
    hasEnded || framing == .untilClose ? .end(consumed: 0) : .malformed(.cutShort)
  }
}
