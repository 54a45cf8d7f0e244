import Bytes
import EventLoop
import HTTP

/// One question to one server whether it is well, on a connection of its own.
///
/// Its answer is read by the parser that reads every upstream's, so that a server whose answers would be refused is not well. It carries
/// nothing of any client and no word of the gate's.
struct HealthProbe {
  static let headLimits = HeadLimits(headBytesMax: 16 << 10, startLineBytesMax: 8 << 10, fieldCountMax: 100)
  static let interimAnswersMax = 4
  private static let bodyBytesMax = 64 << 10

  /// What came of it.
  enum Result: Equatable {
    case passed
    /// The reason, for the operator.
    case failed(String)
    /// The gate itself was short of descriptors or memory, which says nothing about the server.
    case unknown
  }

  let check: HealthCheck
  let connector: ServerConnector
  /// The `Host` of the question.
  let host: String

  /// Asks, and lends the result before it closes the connection, which may take until the check's time is over.
  func run(on loop: EventLoop, note: (Result) -> Void) async {
    let deadline = loop.now.advanced(byMilliseconds: check.timeoutMilliseconds)
    let socket: Socket
    do throws(SocketFailure) {
      socket = try await connector.connect(on: loop, until: deadline)
    } catch {
      if case .failed(let error) = error, KernelError.isShortage(error) { return note(.unknown) }
      return note(.failed(error.reason))
    }
    guard let path = check.path else {
      socket.close()
      return note(.passed)
    }
    note(await ask(socket, path, on: loop, until: deadline))
    // The rest of the answer is taken, as far as it is short: a server should not have to log a connection that was reset.
    await socket.closeLingering(bytesMax: Self.bodyBytesMax, until: deadline)
  }

  private func ask(_ socket: Socket, _ path: String, on loop: EventLoop, until deadline: Instant) async -> Result {
    var output = ByteQueue()
    output.append("GET \(path) HTTP/1.1\r\nHost: \(host)\r\nUser-Agent: attestgate\r\nConnection: close\r\n\r\n")
    while true {
      switch socket.write(from: &output) {
      case .complete: return await answer(from: socket, on: loop, until: deadline)
      case .failed(let error): return .failed(KernelError.text(error))
      case .wouldBlock:
        guard await loop.wait(for: .writable(socket), until: deadline) else { return .failed("it took no request in time") }
      }
    }
  }

  private func answer(from socket: Socket, on loop: EventLoop, until deadline: Instant) async -> Result {
    var input = ByteQueue()
    let head = ResponseHead()
    var interimAnswers = 0
    while true {
      let outcome = input.isEmpty ? .incomplete : input.withReadable { head.parse($0, answering: .get, limits: Self.headLimits) }
      switch outcome {
      case .complete(let byteCount):
        input.consume(byteCount)
        guard head.isInterim else { return judge(head.status) }
        interimAnswers += 1
        guard interimAnswers <= Self.interimAnswersMax else { return .failed("too many interim answers") }
        continue
      case .refused(let refusal): return .failed("its answer is invalid: \(refusal.detail)")
      case .incomplete: break
      }
      guard await loop.wait(for: .readable(socket), until: deadline) else { return .failed("no answer in time") }
      switch socket.read(into: &input) {
      case .bytes, .wouldBlock: continue
      case .end: return .failed("it closed without an answer")
      case .failed(let error): return .failed(KernelError.text(error))
      }
    }
  }

  private func judge(_ status: Int) -> Result {
    check.statuses.contains(status) ? .passed : .failed("it answered \(status)")
  }
}
