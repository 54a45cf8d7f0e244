import CHiredis

/// hiredis' reply parser, fenced: bytes in, replies out, and nothing that Redis sends makes it hold more than its limits.
///
/// hiredis calls back for every element; ``ReplyBuilder`` makes values of them, so no `redisReply` is ever allocated.
@safe
final class ReplyReader {
  /// What the bytes so far amount to.
  enum Outcome: Equatable {
    case reply(RedisReply)
    case incomplete
    /// Nothing that follows can be trusted: the connection must be closed.
    case malformed(String)
  }

  /// Bytes of a reply that may wait for its end: more than any that the gate asks for.
  static let bufferedBytesMax = 1 << 20

  // Invariants: `reader` is live from init to deinit; `functions` and `builder`, which it points to, live as long.
  private let reader: UnsafeMutablePointer<redisReader>
  private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
  private let builder = ReplyBuilder()
  private var failure: String?

  init() {
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    unsafe functions.initialize(to: ReplyBuilder.functions)
    guard let reader = unsafe redisReaderCreateWithFunctions(functions) else { fatalError("hiredis has no memory") }
    unsafe reader.pointee.privdata = Unmanaged.passUnretained(builder).toOpaque()
    unsafe self.functions = functions
    unsafe self.reader = reader
  }

  deinit {
    unsafe redisReaderFree(reader)
    unsafe functions.deallocate()
  }

  /// Takes bytes that came from Redis.
  func feed(_ bytes: Span<UInt8>) {
    guard failure == nil, bytes.count > 0 else { return }
    let result = unsafe bytes.withUnsafeBytes { buffer in
      // hiredis copies exactly `count` bytes.
      unsafe redisReaderFeed(reader, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    if result != REDIS_OK { failure = "the reply parser has no memory" }
  }

  /// The next whole reply.
  func next() -> Outcome {
    if let failure { return .malformed(failure) }
    var token: UnsafeMutableRawPointer?
    guard unsafe redisReaderGetReply(reader, &token) == REDIS_OK else { return fail(with: builder.refusal ?? message) }
    guard unsafe token != nil else {
      let waiting = unsafe reader.pointee.len - reader.pointee.pos
      return waiting > Self.bufferedBytesMax ? fail(with: "a reply is larger than \(Self.bufferedBytesMax) bytes") : .incomplete
    }
    guard let reply = builder.take() else { return fail(with: "a reply without a value") }
    return .reply(reply)
  }

  private func fail(with reason: String) -> Outcome {
    failure = reason
    return .malformed(reason)
  }

  /// hiredis' own words, at most 127 bytes.
  private var message: String {
    unsafe withUnsafeBytes(of: &reader.pointee.errstr) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
