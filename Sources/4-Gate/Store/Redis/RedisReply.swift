/// One reply of Redis (RESP2).
enum RedisReply: Equatable {
  case integer(Int64)
  /// A status line or a string.
  case bytes([UInt8])
  case null
  case error(String)
  case array([RedisReply])

  /// The text of a status or a string.
  var text: String? {
    guard case .bytes(let bytes) = self else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The message of an error reply.
  var errorMessage: String? {
    guard case .error(let message) = self else { return nil }
    return message
  }
}
