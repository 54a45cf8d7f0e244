import Glibc

/// A client that sends the bytes a test gives it and reads answers by its own strict rules.
extension RawConnection {
  /// Connects to a port of this machine.
  public convenience init(port: UInt16, receiveBufferBytes: Int? = nil, timeoutMilliseconds: Int = 20_000) throws {
    let descriptor = try LoopbackSocket.make()
    // The window is agreed on while connecting, so the buffer is set before.
    if let receiveBufferBytes { LoopbackSocket.setOption(descriptor, SOL_SOCKET, SO_RCVBUF, CInt(receiveBufferBytes)) }
    guard LoopbackSocket.connect(descriptor, port: port) else {
      let error = errno
      Glibc.close(descriptor)
      throw FixtureFailure("cannot connect to port \(port): errno \(error)")
    }
    self.init(descriptor: descriptor, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Connects to a Unix socket.
  public convenience init(unixPath: String, timeoutMilliseconds: Int = 20_000) throws {
    self.init(descriptor: try LoopbackSocket.unix(unixPath) { Glibc.connect($0, $1, $2) }, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Connects to a port of this machine by IPv6.
  public convenience init(ipv6Port port: UInt16, timeoutMilliseconds: Int = 20_000) throws {
    self.init(descriptor: try LoopbackSocket.connectedToIPv6(port: port), timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Reads the head of the next answer, interim answers (1xx) included when `interim` is asked for.
  public func readAnswerHead() throws -> RawMessage {
    guard let head = try readHead() else { throw FixtureFailure("the connection ended before an answer") }
    try head.checkStatusLine()
    return head
  }

  /// Reads one whole answer to a request of this method; interim answers before it are in `interim`.
  public func readAnswer(to method: String = "GET") throws -> RawMessage {
    var interim: [RawMessage] = []
    while true {
      var answer = try readAnswerHead()
      let framing = try answer.answerFraming(to: method)
      if 100..<200 ~= answer.status && answer.status != 101 {
        interim.append(answer)
        continue
      }
      try readBody(of: &answer, framing)
      answer.interim = interim
      return answer
    }
  }

  /// Sends a request and reads its answer.
  public func exchange(_ request: String) throws -> RawMessage {
    try send(request)
    return try readAnswer(to: String(request.prefix { $0 != " " }))
  }
}

/// A connection's one request and its answer.
public func exchange(port: UInt16, _ request: String) throws -> RawMessage {
  try RawConnection(port: port).exchange(request)
}
