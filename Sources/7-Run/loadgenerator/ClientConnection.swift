import Bytes
import EventLoop
import HTTP

/// Why the load could not be sent.
struct LoadFailure: Error {
  var message: String

  init(_ message: String) { self.message = message }
}

/// One keep-alive connection to a proxy, one request at a time.
final class ClientConnection {
  private static let answerMilliseconds = 30_000

  private let loop: EventLoop
  private let socket: Socket
  private let head = ResponseHead()
  private let limits = HeadLimits()
  private var input = ByteQueue()
  private var output = ByteQueue()
  /// The content of the last answer.
  private(set) var body: [UInt8] = []

  private init(_ socket: Socket, _ loop: EventLoop) {
    self.socket = socket
    self.loop = loop
  }

  static func open(to host: String, port: UInt16, on loop: EventLoop) async throws(LoadFailure) -> ClientConnection {
    guard let address = SocketAddress(host: host, port: port) else { throw LoadFailure("\(host) must be an address") }
    do throws(SocketFailure) {
      let socket = try await Socket.connect(to: address, on: loop, until: loop.now.advanced(byMilliseconds: answerMilliseconds))
      return ClientConnection(socket, loop)
    } catch {
      throw LoadFailure("no connection to \(host):\(port): \(error)")
    }
  }

  /// Appends to the request that ``exchange()`` sends.
  func append(_ bytes: Span<UInt8>) { output.append(bytes) }

  /// Sends what was appended, one request, and reads its answer whole; the result is the status.
  func exchange() async throws(LoadFailure) -> Int {
    let deadline = loop.now.advanced(byMilliseconds: Self.answerMilliseconds)
    while true {
      let outcome = socket.write(from: &output)
      if outcome == .complete { break }
      guard outcome == .wouldBlock, await loop.wait(for: .writable(socket), until: deadline) else {
        throw LoadFailure("the request could not be sent")
      }
    }
    head.reset()
    while true {
      if !input.isEmpty {
        switch input.withReadable({ head.parse($0, answering: .get, limits: limits) }) {
        case .complete(let byteCount):
          input.consume(byteCount)
          try await readBody(until: deadline)
          guard head.keepsAlive else { throw LoadFailure("the connection was ended with status \(head.status)") }
          return head.status
        case .refused(let refusal): throw LoadFailure("the answer is no HTTP: \(refusal.detail)")
        case .incomplete: break
        }
      }
      try await readMore(until: deadline)
    }
  }

  private func readBody(until deadline: Instant) async throws(LoadFailure) {
    var decoder = BodyDecoder(head.framing)
    var content: [UInt8] = []
    body.removeAll(keepingCapacity: true)
    while !decoder.hasEnded {
      let event = input.withReadable { bytes in
        let event = decoder.next(in: bytes)
        if case .data(let range, _) = event { content = [UInt8](copying: bytes.bytes(at: range)) }
        return event
      }
      body += content
      content = []
      switch event {
      case .data(_, let consumed), .end(let consumed): input.consume(consumed)
      case .needMore(let consumed):
        input.consume(consumed)
        try await readMore(until: deadline)
      case .malformed(let fault): throw LoadFailure("the answer's body is malformed: \(fault)")
      }
    }
  }

  private func readMore(until deadline: Instant) async throws(LoadFailure) {
    guard await loop.wait(for: .readable(socket), until: deadline) else { throw LoadFailure("no answer in time") }
    switch socket.read(into: &input) {
    case .bytes, .wouldBlock: return
    case .end, .failed: throw LoadFailure("the connection was closed instead of an answer")
    }
  }

  func close() { socket.close() }
}
