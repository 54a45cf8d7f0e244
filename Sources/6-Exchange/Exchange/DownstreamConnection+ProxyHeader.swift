import Bytes
import EventLoop
import HTTP

/// Why a connection to a listener with `proxy_protocol` is closed before its first request.
enum ProxyHeaderRefusal: Equatable {
  /// The peer is none of `trusted_proxies`.
  case peerNotTrusted
  case malformed(ProxyHeaderFault)
  /// The header did not come within `head_timeout`.
  case timedOut
  /// Whom it names has as many connections as one may (`limits.connections_per_address`).
  case tooManyConnections
  /// The peer went away.
  case closed

  /// The label of the metric.
  var label: String {
    switch self {
    case .peerNotTrusted: "untrusted"
    case .malformed(let fault): fault.rawValue
    case .timedOut: "timeout"
    case .tooManyConnections: "connections_per_address"
    case .closed: "closed"
    }
  }
}

extension DownstreamConnection {
  /// Reads the header that a connection to this listener must begin with, and takes over whom it names; nil when all is well.
  func readProxyHeader() async -> ProxyHeaderRefusal? {
    guard believesForwarding else { return .peerNotTrusted }
    let deadline = loop.now.advanced(byMilliseconds: listener.settings.headTimeoutMilliseconds)
    defer { idleSince = nil }
    while true {
      switch input.withReadable({ ProxyHeader.parse($0) }) {
      case .malformed(let fault): return .malformed(fault)
      case .complete(let header, let byteCount):
        input.consume(byteCount)
        guard case .client(let address, _, let isTLS) = header else { return nil }
        return takePeer(Client(address), speaksTLS: isTLS) ? nil : .tooManyConnections
      case .incomplete: break
      }
      idleSince = input.isEmpty ? idleSince ?? loop.now : nil
      guard await loop.wait(for: .readable(socket), until: deadline) else { return .timedOut }
      switch socket.read(into: &input) {
      case .bytes, .wouldBlock: continue
      case .end, .failed: return .closed
      }
    }
  }
}
