import Glibc

/// One request at the scripted upstream, in the hands of the script; used on its connection's thread only.
public final class UpstreamExchange {
  /// The head, and the body once `readBody` has read it.
  public private(set) var request: RawMessage
  /// The connection, for scripts that do what no HTTP server does.
  public let connection: RawConnection
  /// Which connection it is, counted from 0.
  public let connectionNumber: Int
  /// How the request's body is framed.
  public let framing: RawFraming
  /// Whether the connection serves no further request.
  public private(set) var isOver = false

  private var bodyWasRead: Bool
  private let complete: (RawMessage) -> Void

  init(
    _ request: RawMessage, _ framing: RawFraming, on connection: RawConnection, connectionNumber: Int,
    complete: @escaping (RawMessage) -> Void
  ) {
    self.request = request
    self.framing = framing
    self.connection = connection
    self.connectionNumber = connectionNumber
    self.complete = complete
    bodyWasRead = framing == .none
  }

  /// The path and query.
  public var target: String { request.target }

  /// Reads the body to its end.
  @discardableResult
  public func readBody() throws -> [UInt8] {
    if !bodyWasRead {
      bodyWasRead = true
      try connection.readBody(of: &request, framing)
      complete(request)
    }
    return request.body
  }

  /// Reads the body, then answers with a length.
  public func answer(_ text: String, status: String = "200 OK", fields: [String] = []) throws {
    try answer(Array(text.utf8), status: status, fields: fields)
  }

  /// Reads the body, then answers with a length; without the body itself where the method is HEAD.
  public func answer(_ body: [UInt8], status: String = "200 OK", fields: [String] = []) throws {
    try readBody()
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + fields
    try send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    if request.method != "HEAD" { try connection.send(body) }
  }

  /// Sends bytes as they stand.
  public func send(_ text: String) throws { try connection.send(text) }

  /// Sends one chunk of a chunked body; an empty text is the last chunk.
  public func sendChunk(_ text: String) throws {
    try connection.send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
  }

  /// Ends the connection in order: what was sent arrives.
  public func close() {
    isOver = true
    connection.close()
  }

  /// Ends the connection with a reset.
  public func reset() {
    isOver = true
    connection.reset()
  }

  /// Waits until the gate ends the connection; false when it did not within the time.
  public func waitForHangUp(milliseconds: Int = 120_000) -> Bool {
    isOver = true
    let end = monotonicMilliseconds() + milliseconds
    while true {
      let rest = end - monotonicMilliseconds()
      guard rest > 0, connection.isReadable(withinMilliseconds: rest) else { return false }
      guard let bytes = try? connection.readSome(), !bytes.isEmpty else { return true }
    }
  }
}
