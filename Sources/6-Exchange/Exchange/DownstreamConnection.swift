import Bytes
import EventLoop
import HTTP
import Upstream

/// A client's connection: its socket, what waits in both directions, and the head of the request being served.
final class DownstreamConnection {
  /// How long, and for how many bytes, a client may still send while it is given time to read its last answer (RFC 9112 section 9.6).
  static let lingerMilliseconds = 2_000
  static let lingerBytesMax = 64 << 10
  /// From so much of a head on, memory is looked at before more of it is read.
  static let longHeadBytes = 16 << 10
  /// What lasts longer gives back the memory that it can do without; and so long a new connection is waited for.
  static let busyMilliseconds = 1_000
  /// Between two requests it is kept as it is for so long; then it rests. To wake it costs a new task, to keep it some
  /// twenty kilobytes: a client that asks less often than this loses little, and those that have all come at once hold little.
  static let restMilliseconds = 100

  let socket: Socket
  let loop: EventLoop
  /// Under whose settings the request being served is.
  private(set) var listener: ServedListener
  let metrics: LimitMetrics
  private let memory: MemoryWatch
  /// Its place among the listener's connections, for as long as it lives.
  private var slot: ConnectionSlot?
  /// Whether all that comes before the first request is done: PROXY header, handshake.
  var isEstablished = false
  /// As whom the request being served counts where limits are by address.
  var network: ClientNetwork? { client.network }
  let head = RequestHead()
  private let guardedInput = Guarded(ByteQueue())
  private let guardedOutput = Guarded(ByteQueue())
  var input: ByteQueue {
    _read { yield guardedInput.value }
    _modify { yield &guardedInput.value }
  }
  var output: ByteQueue {
    _read { yield guardedOutput.value }
    _modify { yield &guardedOutput.value }
  }
  /// The request as it goes to the upstream.
  let outgoing: OutgoingRequest
  /// The body of the request being served.
  var body = BodyDecoder(.none)
  /// Bytes of its content so far.
  var bodyBytesTaken = 0
  /// Time that was spent waiting for it.
  var bodyWaitNanoseconds: UInt64 = 0
  /// Which key signs here.
  var likelyKey: LikelyKey
  /// Since when it waits for a request of which no byte has come.
  var idleSince: Instant?
  /// Requests served so far.
  private(set) var requestCount: Int
  /// Bytes that the kernel took, in all.
  var bytesWritten = 0
  /// Whether the answer that is under way ends with the connection, so that only a reset can tell the client that it was cut short.
  var answerEndsWithConnection = false
  /// What the client takes its answer at, once it was waited for.
  var pace = WritePace()
  /// Who connected: the socket's peer, or for whom its PROXY header speaks.
  private(set) var peer: Client
  /// Who sent the request being served: the peer, or whom a trusted peer names.
  var client: Client
  /// Whether the peer is one of `trusted_proxies`, whose word about others is taken.
  private(set) var believesForwarding: Bool
  /// Whether the peer told that it speaks TLS with the client.
  private(set) var peerSpeaksTLS: Bool
  /// What was agreed upon with it, where the listener speaks TLS.
  var tls: ClientTLS? { didSet { peerSpeaksTLS = peerSpeaksTLS || tls != nil } }

  init(
    socket: Socket, slot: consuming ConnectionSlot, loop: EventLoop, listener: ServedListener, metrics: LimitMetrics, memory: MemoryWatch
  ) {
    self.socket = socket
    self.slot = .some(slot)
    self.loop = loop
    self.listener = listener
    self.metrics = metrics
    self.memory = memory
    outgoing = OutgoingRequest(client: socket)
    peer = Client(socket.peer)
    client = peer
    believesForwarding = !listener.settings.trustedPeers.isEmpty && listener.settings.trustedPeers.contains(peer.address)
    peerSpeaksTLS = false
    likelyKey = LikelyKey()
    requestCount = 0
  }

  /// The connection that rested, as it was before.
  init(waking resting: RestingConnection) {
    socket = resting.socket
    slot = resting.slot.take()
    loop = resting.context.loop
    listener = resting.listener
    metrics = resting.context.metrics.limits
    memory = resting.context.limits.memory
    outgoing = OutgoingRequest(client: socket)
    peer = resting.peerAddress.map { Client($0) } ?? Client(socket.peer)
    client = peer
    believesForwarding = resting.believesForwarding
    peerSpeaksTLS = resting.peerSpeaksTLS
    tls = resting.tls
    likelyKey = resting.likelyKey
    requestCount = resting.requestCount
    idleSince = resting.idleSince
    isEstablished = true
  }

  /// Ends this form of the connection: what is left of it waits for the next request, or the end of `idle_timeout`.
  func rest(in worker: Worker, under context: WorkerContext) -> RestingConnection {
    let resting = RestingConnection(self, slot: slot.take(), idleSince: idleSince ?? loop.now, context: context, worker: worker)
    loop.tell(resting, of: socket, until: resting.idleSince.advanced(byMilliseconds: listener.settings.idleTimeoutMilliseconds))
    return resting
  }

  /// Takes whom a PROXY header speaks for as the peer; whether that one is trusted is another question. False when he has as many
  /// connections as one may.
  func takePeer(_ peer: Client, speaksTLS: Bool) -> Bool {
    self.peer = peer
    client = peer
    peerSpeaksTLS = speaksTLS
    believesForwarding = listener.settings.trustedPeers.contains(peer.address)
    return believesForwarding || slot?.claim(peer.network) ?? false
  }

  /// Goes over to the same listener of another configuration, which may trust others.
  func follow(_ listener: ServedListener) {
    self.listener = listener
    believesForwarding = listener.settings.trustedPeers.contains(peer.address)
    if !believesForwarding { client = peer }
  }

  enum HeadResult {
    /// A complete head.
    case request
    case refused(HeadRefusal)
    /// A head that had begun did not end in time.
    case timedOut
    /// There is no memory to wait for the rest of a head that has begun; what had come of it is gone.
    case overloaded
    /// The client is gone, or was idle for too long.
    case closed
    /// Nothing has come for a moment.
    case idle
  }

  /// Reads the next request's head.
  func readHead() async -> HeadResult {
    var deadline = Instant.never
    while true {
      if !input.isEmpty {
        if deadline == .never { deadline = loop.now.advanced(byMilliseconds: listener.settings.headTimeoutMilliseconds) }
        switch input.withReadable({ head.parse($0, limits: listener.headLimits) }) {
        case .complete(let byteCount):
          input.consume(byteCount)
          body = BodyDecoder(head.framing, limits: listener.headLimits)
          bodyBytesTaken = 0
          if !head.framing.isEmpty { bodyWaitNanoseconds = 0 }
          requestCount += 1
          return .request
        case .refused(let refusal): return .refused(refusal)
        case .incomplete: break
        }
        if input.count >= Self.longHeadBytes { memory.look() }
        if memory.pressure == .critical {
          input.removeAll()
          releaseStorage()
          return .overloaded
        }
      }
      switch await waitForHead(until: deadline) {
      case .ready: break
      case .idle: return .idle
      case .timedOut: return head.hasBegun ? .timedOut : .closed
      }
      switch socket.read(into: &input) {
      // What comes without a byte for us, such as TLS' own messages, does not prolong the idle time.
      case .wouldBlock: continue
      case .bytes: idleSince = nil
      case .end, .failed: return .closed
      }
    }
  }

  private enum HeadWait { case ready, idle, timedOut }

  /// Waits for bytes of a head.
  private func waitForHead(until headDeadline: Instant) async -> HeadWait {
    guard headDeadline == .never else { return await loop.wait(for: .readable(socket), until: headDeadline) ? .ready : .timedOut }
    if socket.hasSomethingToRead { return .ready }
    let start = idleSince ?? loop.now
    idleSince = start
    let deadline = start.advanced(byMilliseconds: listener.settings.idleTimeoutMilliseconds)
    let pause = start.advanced(byMilliseconds: Self.restMilliseconds)
    if await loop.wait(for: .readable(socket), until: min(pause, deadline)) { return .ready }
    if loop.now < deadline { return .idle }
    metrics.count(.idle)
    return .timedOut
  }

  /// Whether it has served as many requests as a connection may: the answer to the last one closes it.
  var hasServedAll: Bool { requestCount >= listener.settings.requestsPerConnectionMax }

  /// Whether it may be closed without harm: nothing has come for a moment, so that probably nothing is under way. A client that is
  /// busy will be told with its next answer.
  var mayBeClosed: Bool {
    guard let idleSince, !socket.hasSomethingToRead else { return false }
    return idleSince.advanced(byMilliseconds: Self.busyMilliseconds) <= loop.now
  }

  /// Closes in the middle of whatever is under way, so that the client does not take what it has for the whole.
  func cutOff() {
    if answerEndsWithConnection { socket.resetOnClose() }
    socket.close()
  }

  private func releaseStorage() {
    input.releaseStorageIfEmpty()
    output.releaseStorageIfEmpty()
    head.releaseStorage()
    outgoing.releaseStorage()
  }

  /// Closes so that the client can read its last answer although it may still be sending: unless it said that it sends no more
  /// (RFC 9112 section 9.6), and nothing of its is there.
  func closeLingering() async {
    let saidItsLast = head.isComplete && !head.keepsAlive && body.hasEnded && input.isEmpty
    if saidItsLast && !socket.hasSomethingToRead { return socket.close() }
    await socket.closeLingering(bytesMax: Self.lingerBytesMax, until: loop.now.advanced(byMilliseconds: Self.lingerMilliseconds))
  }
}
