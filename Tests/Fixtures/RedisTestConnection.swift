import Glibc

/// A reply of Redis as the tests see it.
public enum RedisValue: Equatable, Sendable {
  /// `:`
  case integer(Int)
  /// `+` and `$`
  case bytes([UInt8])
  /// `$-1` and `*-1`
  case null
  /// `-`, inside an array
  case error(String)
  /// `*`
  case array([RedisValue])

  /// The text of a string.
  public var text: String? {
    guard case .bytes(let bytes) = self else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A blocking connection for a test's own commands, written without the code under test.
public final class RedisTestConnection {
  private let descriptor: Int32
  private var input: [UInt8] = []
  private var position = 0

  /// Connects to a Unix socket; a reply is waited for at most 10 s.
  public init(unixPath: String) throws {
    descriptor = try UnixSocket.connect(path: unixPath)
    var timeout = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// One command. Throws the text of an error reply.
  public func command(_ words: [[UInt8]]) throws -> RedisValue {
    try send(words)
    let value = try reply()
    if case .error(let message) = value { throw FixtureFailure(message) }
    return value
  }

  /// One command of text words.
  @discardableResult
  public func command(_ words: [String]) throws -> RedisValue { try command(words.map { Array($0.utf8) }) }

  /// Sends a command without waiting.
  public func send(_ words: [[UInt8]]) throws {
    var bytes = Array("*\(words.count)\r\n".utf8)
    for word in words { bytes += Array("$\(word.count)\r\n".utf8) + word + [13, 10] }
    guard UnixSocket.sendAll(bytes, to: descriptor) else { throw FixtureFailure("send: errno \(errno)") }
  }

  /// The next reply.
  public func reply() throws -> RedisValue {
    let line = try line()
    guard let first = line.first else { throw FixtureFailure("an empty reply") }
    let rest = String(decoding: line.dropFirst(), as: UTF8.self)
    switch first {
    case UInt8(ascii: "+"): return .bytes(Array(line.dropFirst()))
    case UInt8(ascii: "-"): return .error(rest)
    case UInt8(ascii: ":"): return .integer(Int(rest) ?? 0)
    case UInt8(ascii: "$"):
      guard let count = Int(rest), count >= 0 else { return .null }
      let bytes = try take(count)
      _ = try take(2)
      return .bytes(bytes)
    case UInt8(ascii: "*"):
      guard let count = Int(rest), count >= 0 else { return .null }
      return .array(try (0..<count).map { _ in try reply() })
    default: throw FixtureFailure("an unknown reply")
    }
  }

  private func line() throws -> [UInt8] {
    var line: [UInt8] = []
    while true {
      let byte = try take(1)[0]
      if byte == 10, line.last == 13 { return line.dropLast() }
      line.append(byte)
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while input.count - position < count {
      if position > 0 {
        input.removeFirst(position)
        position = 0
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let received = recv(descriptor, &chunk, chunk.count, 0)
      guard received > 0 else { throw FixtureFailure("recv: \(received == 0 ? "end" : "errno \(errno)")") }
      input += chunk[..<received]
    }
    defer { position += count }
    return Array(input[position..<position + count])
  }
}
