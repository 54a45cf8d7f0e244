import Bytes
import EventLoop
import HTTP
import SimulatedDevice
import Synchronization
import TLS

/// One request of a command and its answer, over a connection of its own, on a loop that runs for as long as the exchange takes. It shares the gate's
/// parsers: there is one place that decides where a body ends.
final class HTTPClientExchange {
  /// Connecting, in all.
  private static let connectMilliseconds = 5_000
  /// Everything together, unless said otherwise.
  private static let totalMilliseconds = 60_000
  /// An answer is kept in memory whole.
  private static let answerBytesMax = 16 << 20

  private let request: HTTPClientRequest
  private let loop: EventLoop
  private let place: String
  private let deadline: Instant
  private var input = ByteQueue()
  private var body: [UInt8] = []

  fileprivate init(_ request: HTTPClientRequest, on loop: EventLoop, until deadline: Instant) {
    self.request = request
    self.loop = loop
    self.deadline = deadline
    place = "\(request.url.host):\(request.url.port)"
  }

  /// Sends the request and waits for the answer, with the calling thread as the loop's.
  static func run(_ request: HTTPClientRequest, milliseconds: Int = totalMilliseconds) throws(HTTPClientFailure) -> HTTPClientAnswer {
    let client = HTTPClient()
    client.start(request, until: Instant.now.advanced(byMilliseconds: milliseconds))
    return try client.outcome()
  }

  fileprivate func answer() async throws(HTTPClientFailure) -> HTTPClientAnswer {
    let socket = try await connect()
    defer { socket.close() }
    var output = ByteQueue()
    output.append(request.head)
    output.append(request.body)
    try await send(&output, over: socket)
    return try await receive(from: socket)
  }

  private func connect() async throws(HTTPClientFailure) -> Socket {
    let until = min(deadline, Instant.now.advanced(byMilliseconds: Self.connectMilliseconds))
    let addresses = await NameResolver().addresses(of: request.url.host, port: request.url.port, on: loop, until: until)
    var failure = HTTPClientFailure.noAddress(host: request.url.host)
    for address in addresses {
      do throws(SocketFailure) {
        return try await connect(to: address, until: until)
      } catch {
        switch error {
        case .failed(let errno): failure = .notConnected(place: place, errno: errno)
        case .timedOut: failure = .timedOut(place: place)
        case .notSecured(let reason): failure = .notSecured(place: place, reason: reason)
        }
      }
    }
    throw failure
  }

  private func connect(to address: SocketAddress, until: Instant) async throws(SocketFailure) -> Socket {
    guard request.url.isSecure else { return try await Socket.connect(to: address, on: loop, until: until) }
    guard let trust = request.trust else { throw .notSecured("this command trusts no authority") }
    return try await TLSClient(trust, name: request.url.host, offersHTTP: true).connect(to: address, on: loop, until: until)
  }

  /// Sends until all is sent, or until something comes back: an answer that comes early, such as 413, ends the sending.
  private func send(_ output: inout ByteQueue, over socket: Socket) async throws(HTTPClientFailure) {
    while case .wouldBlock = socket.write(from: &output) {
      switch await loop.wait(for: .readable(socket), or: .writable(socket), until: deadline) {
      // A ticket of TLS is no answer.
      case .ready(0) where socket.hasSomethingToRead: return
      case .ready: continue
      case .timedOut: throw .timedOut(place: place)
      }
    }
    // A write that failed is no end yet: the peer may have answered before it closed.
  }

  private func receive(from socket: Socket) async throws(HTTPClientFailure) -> HTTPClientAnswer {
    let head = ResponseHead()
    let name = Array(request.method.utf8)
    let method = RequestMethod(name.span)
    while true {
      switch input.withReadable({ head.parse($0, answering: method, limits: HeadLimits()) }) {
      case .incomplete: try await readMore(from: socket)
      case .refused(let refusal): throw .malformed(refusal.detail)
      case .complete(let byteCount):
        let text = input.withReadable { String(decoding: [UInt8](copying: $0.extracting(first: byteCount)), as: UTF8.self) }
        input.consume(byteCount)
        // Interim answers are for those who asked for them.
        if head.isInterim { continue }
        try await receiveBody(head.framing, from: socket)
        return HTTPClientAnswer(status: head.status, head: text, body: body)
      }
    }
  }

  private func readMore(from socket: Socket) async throws(HTTPClientFailure) {
    while true {
      // One who never pauses is waited for no longer than one who never speaks.
      guard Instant.now < deadline else { throw .timedOut(place: place) }
      switch socket.read(into: &input) {
      case .bytes: return
      case .end, .failed: throw .brokenOff(place: place)
      case .wouldBlock:
        guard await loop.wait(for: .readable(socket), until: deadline) else { throw .timedOut(place: place) }
      }
    }
  }

  private func receiveBody(_ framing: BodyFraming, from socket: Socket) async throws(HTTPClientFailure) {
    var decoder = BodyDecoder(framing)
    while true {
      switch takePart(&decoder) {
      case .data, .needMore(consumed: 1...): continue
      case .needMore: break
      case .end: return
      case .malformed(let fault): throw .malformed("\(fault)")
      }
      guard body.count <= Self.answerBytesMax else { throw .tooLarge(bytesMax: Self.answerBytesMax) }
      do throws(HTTPClientFailure) {
        try await readMore(from: socket)
      } catch {
        guard case .brokenOff = error, case .end = decoder.atEndOfInput() else { throw error }
        return
      }
    }
  }

  /// Takes the next part of the body out of the input.
  private func takePart(_ decoder: inout BodyDecoder) -> BodyEvent {
    let event = input.withReadable { decoder.next(in: $0) }
    if case .data(let range, _) = event { body += input.withReadable { [UInt8](copying: $0.bytes(at: range)) } }
    switch event {
    case .data(_, let consumed), .needMore(let consumed), .end(let consumed): input.consume(consumed)
    case .malformed: break
    }
    return event
  }
}

/// Isolates an exchange to its loop, as a worker isolates its connections.
private actor HTTPClient {
  private nonisolated let loop = EventLoop()
  private nonisolated let result = Mutex<Result<HTTPClientAnswer, HTTPClientFailure>?>(nil)

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  nonisolated func start(_ request: HTTPClientRequest, until deadline: Instant) {
    Task(executorPreference: loop) { await self.exchange(request, until: deadline) }
  }

  private func exchange(_ request: HTTPClientRequest, until deadline: Instant) async {
    let outcome: Result<HTTPClientAnswer, HTTPClientFailure>
    do throws(HTTPClientFailure) {
      outcome = .success(try await HTTPClientExchange(request, on: loop, until: deadline).answer())
    } catch {
      outcome = .failure(error)
    }
    result.withLock { $0 = outcome }
    loop.stop()
  }

  /// Runs the loop on the calling thread until the exchange is over.
  nonisolated func outcome() throws(HTTPClientFailure) -> HTTPClientAnswer {
    loop.run()
    guard let outcome = result.withLock({ $0 }) else { preconditionFailure("the loop ended before the exchange") }
    return try outcome.get()
  }
}
