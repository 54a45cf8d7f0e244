import Bytes
import Cryptography
import EventLoop
import HTTP
import Telemetry
import Upstream

/// What is remembered of a tunnel for its log line.
struct TunnelRecord {
  var bytesReceived = 0
  var end = Tunnel.End.ended
  /// From the request's head to the 101.
  var openedAfterNanoseconds: UInt64 = 0
}

/// WebSocket, on routes that pass it (`upgrade: [websocket]`).
extension Exchange {
  /// Asks the upstream for a WebSocket, if the request does and the route passes it on. On every other route, and of every other
  /// protocol, `Upgrade` has been dropped with the connection's own fields; h2c is not to be asked for at all.
  func askForWebSocket(_ route: ServedRoute, in output: inout ByteQueue) {
    guard route.settings.passesWebSocket, let key = head.webSocketKey else { return }
    record.webSocketKey = head.withBytes { Array(copying: $0.bytes(at: key)) }
    output.append("Connection: Upgrade\r\nUpgrade: websocket\r\n")
  }

  /// Whether the 101 comes from a server that has understood the client's key, and not from one that was made to write one.
  func isAnsweredRightly(by answer: ResponseHead) -> Bool {
    guard let key = record.webSocketKey, case .one(let range) = answer.field(named: Self.acceptName.span) else { return false }
    let expected = Array(Base64.encode(SHA1.digest((key + WebSocketHandshake.acceptSuffix).span).span).utf8)
    return answer.withBytes { $0.bytes(at: range).equals(expected.span) }
  }

  private static let acceptName = Array("sec-websocket-accept".utf8)

  /// Passes the 101 on, and then whatever either side sends. What an open tunnel takes is no request in flight any more.
  func tunnel(to upstream: UpstreamConnection, _ route: ServedRoute) async -> Afterwards {
    let deadline = connection.outgoing.deadline
    let now = worker.loop.now.nanoseconds
    record.upstreamNanoseconds = now - sentAt.nanoseconds
    route.upstream.metrics.duration.observe(nanoseconds: record.upstreamNanoseconds)
    record.status = upstream.answer.status
    upstream.answer.writeSwitchToWebSocket(to: &connection.output, changes: route.responseChanges)
    var tunnel = Tunnel(connection, upstream, idleMilliseconds: route.upstream.settings.idleTimeoutMilliseconds, until: deadline)
    worker.metrics.requestsInFlight.add(-1)
    worker.metrics.tunnels.add(1)
    connection.answerEndsWithConnection = true
    let end = await tunnel.run()
    worker.metrics.tunnels.add(-1)
    worker.metrics.requestsInFlight.add(1)
    worker.metrics.countTunnel(end)
    record.tunnel = TunnelRecord(
      bytesReceived: tunnel.bytesReceived, end: end, openedAfterNanoseconds: now - record.startedAt.nanoseconds)
    route.upstream.discard(upstream)
    // Either side's end that was no orderly one is not made to look like one.
    if end != .ended { connection.socket.resetOnClose() }
    return .close
  }
}
