import Bytes
public import EventLoop
public import Exchange
import HTTP
import Store
import Synchronization
public import Telemetry

/// Health and metrics on a listener of their own, on a loop of its own: a scrape holds up no request. Nothing here changes anything.
public actor AdminListener {
  static let connectionsMax = 64
  static let idleMilliseconds = 10_000
  static let lingerMilliseconds = 1_000
  static let lingerBytesMax = 64 << 10
  static let headLimits = HeadLimits(headBytesMax: 8 << 10, startLineBytesMax: 2 << 10, fieldCountMax: 50)

  /// The loop, which is the actor's executor.
  public nonisolated let loop: EventLoop
  /// The loop, as the language asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

  private let workers: [Worker]
  private let process: MetricRegistry
  private let startedAt = Double(WallClock.unixNanoseconds) / 1_000_000_000
  private let readiness: Mutex<Readiness>
  /// By the event that they came with: the object of a connection that was given up may lie where the next one's does.
  private var connections: [Int: Connection] = [:]
  private var eventCount = 0
  private var acceptor: Acceptor?
  private var isHandedOver = false

  private struct Connection {
    let socket: Socket
    /// When it asked last, or came: events are numbered.
    var lastEvent: Int
  }

  /// A listener that does not serve yet. `process` holds the metrics that belong to no worker.
  public init(workers: [Worker], process: MetricRegistry, needsStore: Bool) {
    loop = EventLoop()
    self.workers = workers
    self.process = process
    readiness = Mutex(Readiness(phase: .starting, needsStore: needsStore))
    loop.start(name: "admin")
  }

  /// Moves readiness on, from any thread.
  public nonisolated func enter(_ phase: Readiness.Phase) {
    readiness.withLock { $0.phase = phase }
  }

  /// Another configuration is served: whether it can serve nothing without the store.
  public nonisolated func follow(needsStore: Bool) {
    readiness.withLock { $0.needsStore = needsStore }
  }

  /// Accepts nothing more: another process answers here now. What the kernel gave this one already is taken, and answered as before; each
  /// connection ends with its next answer.
  public func stopAccepting() {
    isHandedOver = true
    guard let acceptor, acceptor.isOpen else { return }
    acceptor.pause()
    while case .connection(let connection) = acceptor.accept() { take(connection) }
    acceptor.close()
    self.acceptor = nil
  }

  /// Serves `socket`.
  public func start(_ socket: ListeningSocket) {
    Task(executorPreference: loop) { await self.accept(socket) }
  }

  private func accept(_ socket: ListeningSocket) async {
    let acceptor = Acceptor(socket, loop: loop)
    self.acceptor = acceptor
    while acceptor.isOpen {
      _ = await loop.wait(for: .readable(acceptor), until: .never)
      guard acceptor.isOpen else { return }
      switch acceptor.accept() {
      case .connection(let connection):
        take(connection)
        // One a turn, so that a crowd of them does not keep those that are here from being served.
        acceptor.endTurn()
      case .wouldBlock: continue
      case .lost: await loop.yield()
      case .exhausted: await loop.sleep(until: loop.now.advanced(byMilliseconds: 100))
      }
    }
  }

  private func take(_ socket: Socket) {
    if connections.count >= Self.connectionsMax { giveUpLongestSilent() }
    let number = nextEvent()
    connections[number] = Connection(socket: socket, lastEvent: number)
    Task(executorPreference: loop) { await self.serve(number) }
  }

  private func nextEvent() -> Int {
    eventCount += 1
    return eventCount
  }

  /// Makes a place where all are taken: whoever holds connections without asking anything must not keep a health check out.
  private func giveUpLongestSilent() {
    guard let longest = connections.min(by: { $0.value.lastEvent < $1.value.lastEvent }) else { return }
    connections[longest.key] = nil
    longest.value.socket.close()
  }

  private func serve(_ number: Int) async {
    guard let socket = connections[number]?.socket else { return }
    var input = ByteQueue()
    let head = RequestHead()
    while await answerNext(number, socket, &input, head) {}
    await socket.closeLingering(bytesMax: Self.lingerBytesMax, until: loop.now.advanced(byMilliseconds: Self.lingerMilliseconds))
    connections[number] = nil
  }

  /// Reads one request and answers it; false when the connection ends.
  private func answerNext(_ number: Int, _ socket: Socket, _ input: inout ByteQueue, _ head: RequestHead) async -> Bool {
    let deadline = loop.now.advanced(byMilliseconds: Self.idleMilliseconds)
    while true {
      if !input.isEmpty {
        switch input.withReadable({ head.parse($0, limits: Self.headLimits) }) {
        case .complete(let byteCount):
          input.consume(byteCount)
          connections[number]?.lastEvent = nextEvent()
          let keepsAlive = head.keepsAlive && head.framing.isEmpty && !isDraining && !isHandedOver
          let isSent = await send(await answer(head), to: socket, head, closes: !keepsAlive)
          return isSent && keepsAlive
        case .refused(let refusal):
          _ = await send(ProblemDocument(refusal, requestID: []).answer, to: socket, head, closes: true)
          return false
        case .incomplete: break
        }
      }
      guard await loop.wait(for: .readable(socket), until: deadline) else { return false }
      switch socket.read(into: &input) {
      case .bytes, .wouldBlock: continue
      case .end, .failed: return false
      }
    }
  }

  private func send(_ answer: LocalAnswer, to socket: Socket, _ head: RequestHead, closes: Bool) async -> Bool {
    var output = ByteQueue()
    let date = HTTPDate(unixSeconds: WallClock.unixSeconds)
    answer.write(
      to: &output, answering: head.isComplete ? head.method : .get, version: head.isComplete ? head.version : .http11, closes: closes,
      date: date)
    let deadline = loop.now.advanced(byMilliseconds: Self.idleMilliseconds)
    while true {
      switch socket.write(from: &output) {
      case .complete: return true
      case .failed: return false
      case .wouldBlock: guard await loop.wait(for: .writable(socket), until: deadline) else { return false }
      }
    }
  }

  private var isDraining: Bool { readiness.withLock { $0.phase == .draining } }

  // MARK: Answers

  private func answer(_ head: RequestHead) async -> LocalAnswer {
    guard head.method == .get || head.method == .head else {
      return LocalAnswer(status: 405, fields: [.allow(["GET", "HEAD"])], body: Array("health and metrics are read with GET\n".utf8))
    }
    let target = head.withBytes { String(decoding: [UInt8](copying: $0.bytes(at: head.target)), as: UTF8.self) }
    switch target.prefix(while: { $0 != "?" }) {
    case "/healthz": return LocalAnswer(status: 200, body: Array("ok\n".utf8))
    case "/readyz": return await readinessAnswer()
    case "/metrics": return metricsAnswer()
    default: return LocalAnswer(status: 404, body: Array("there is /healthz, /readyz and /metrics\n".utf8))
    }
  }

  private func readinessAnswer() async -> LocalAnswer {
    let state = readiness.withLock { $0 }
    var health: StoreHealth?
    for worker in workers {
      guard let own = await worker.storeHealth() else { continue }
      // One worker that cannot reach the store is enough to say so.
      if health == nil || !own.isUp { health = own }
    }
    let isReady = state.isReady(store: health, now: Instant.now)
    let store = health.map { $0.isUp ? "up" : "down" } ?? "unknown"
    let body = "{\"ready\":\(isReady),\"state\":\"\(state.phase.rawValue)\",\"store\":\"\(store)\"}\n"
    return LocalAnswer(status: isReady ? 200 : 503, contentType: "application/json", body: Array(body.utf8))
  }

  private func metricsAnswer() -> LocalAnswer {
    var output = Exposition.render([process] + workers.map(\.metrics))
    ProcessMetrics.append(to: &output, startedAtUnixSeconds: startedAt)
    return LocalAnswer(status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: output.copied())
  }
}
