import CHiredis

/// Puts one reply together from hiredis' calls, which come in the order of the bytes.
@safe
final class ReplyBuilder {
  /// Elements of the arrays of one reply, nested ones included; an array announces its own before they come.
  static let elementsMax = 65_536
  /// Bytes of all strings of one reply.
  static let stringBytesMax = 4 << 20

  private struct Frame {
    var items: [RedisReply] = []
    var missing: Int
  }

  private var frames: [Frame] = []
  private var root: RedisReply?
  private var elements = 0
  private var stringBytes = 0
  /// Why a call was refused, in place of hiredis' "out of memory".
  private(set) var refusal: String?

  /// The finished reply.
  func take() -> RedisReply? {
    defer {
      root = nil
      elements = 0
      stringBytes = 0
    }
    return root
  }

  /// A number or a null.
  func add(_ reply: RedisReply) -> Bool {
    place(reply)
    return true
  }

  /// A string, a status or an error of `bytes`; false when the reply holds too many.
  func add(string bytes: UnsafeRawBufferPointer, isError: Bool) -> Bool {
    stringBytes += bytes.count
    guard stringBytes <= Self.stringBytesMax else { return refuse("a reply holds more than \(Self.stringBytesMax) bytes") }
    place(isError ? .error(unsafe String(decoding: bytes, as: UTF8.self)) : .bytes(unsafe Array(bytes)))
    return true
  }

  /// The beginning of an array; false when the reply announces too many elements.
  func begin(array count: Int) -> Bool {
    elements += count
    guard elements <= Self.elementsMax else { return refuse("a reply has more than \(Self.elementsMax) elements") }
    if count == 0 { place(.array([])) } else { frames.append(Frame(missing: count)) }
    return true
  }

  private func refuse(_ reason: String) -> Bool {
    refusal = refusal ?? reason
    return false
  }

  /// Puts a finished value where it belongs: into the innermost open array, which may finish with it.
  private func place(_ reply: RedisReply) {
    var reply = reply
    while var frame = frames.popLast() {
      frame.items.append(reply)
      frame.missing -= 1
      if frame.missing > 0 {
        frames.append(frame)
        return
      }
      reply = .array(frame.items)
    }
    root = reply
  }
}

extension ReplyBuilder {
  /// hiredis' hooks. It asks for an object and gets a token that is never read: a null would mean "no memory" and stop it.
  static var functions: redisReplyObjectFunctions {
    unsafe redisReplyObjectFunctions(
      createString: { task, bytes, count in
        unsafe withBuilder(of: task) { builder, type in
          unsafe builder.add(string: UnsafeRawBufferPointer(start: bytes, count: count), isError: type == REDIS_REPLY_ERROR)
        }
      },
      createArray: { task, count in unsafe withBuilder(of: task) { builder, _ in builder.begin(array: Int(count)) } },
      createInteger: { task, number in unsafe withBuilder(of: task) { builder, _ in builder.add(.integer(Int64(number))) } },
      createNil: { task in unsafe withBuilder(of: task) { builder, _ in builder.add(.null) } },
      freeObject: { _ in })
  }
}

/// Calls the builder that the reader's `privdata` points to; a function of the file, since a C function pointer captures nothing.
private func withBuilder(
  of task: UnsafePointer<redisReadTask>?, _ body: (ReplyBuilder, Int32) -> Bool
) -> UnsafeMutableRawPointer? {
  guard let task = unsafe task, let data = unsafe task.pointee.privdata else { return nil }
  let builder = unsafe Unmanaged<ReplyBuilder>.fromOpaque(data).takeUnretainedValue()
  return unsafe body(builder, task.pointee.type) ? data : nil
}
