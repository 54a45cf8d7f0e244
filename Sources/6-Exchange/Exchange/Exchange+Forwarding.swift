import Bytes
import EventLoop
import HTTP

/// Who the client is, and what the upstream is told of him.
extension Exchange {
  /// Takes what a trusted peer says of the client behind it; what is returned is why the request is refused.
  func believeForwarding() -> HeadRefusal? {
    switch head.forwarding(trusting: connection.listener.settings.trustedPeers) {
    case .refused(let refusal): return refusal
    case .believed(let forwarding):
      if let client = forwarding.client { connection.client = Client(client) }
      record.forwardedTLS = forwarding.isTLS
      record.givenIdentifier = forwarding.requestID.map { range in head.withBytes { Array(copying: $0.bytes(at: range)) } }
      if let given = record.givenIdentifier { reported.rename(given) }
      return nil
    }
  }

  /// Whether the client spoke TLS: with the gate, or with the peer before it.
  var clientSpeaksTLS: Bool { record.forwardedTLS ?? connection.peerSpeaksTLS }

  /// Writes the fields about the client: `X-Forwarded-For` goes on where a trusted peer began it, the others are a trusted peer's own
  /// where it wrote them.
  func writeForwardingFields(to output: inout ByteQueue, _ adds: AddedFields) {
    let believes = connection.believesForwarding
    if adds.contains(.forwardedFor) {
      if believes {
        head.writeForwardedFor(to: &output, addingPeer: connection.peer.forwardedFor)
      } else if !connection.peer.forwardedFor.isEmpty {
        output.appendField("X-Forwarded-For", connection.peer.forwardedFor)
      }
    }
    if adds.contains(.forwardedProto), !believes || head.field(.forwardedProto) == .absent {
      if connection.peerSpeaksTLS { output.append("X-Forwarded-Proto: https\r\n") } else { output.append("X-Forwarded-Proto: http\r\n") }
    }
    if adds.contains(.forwardedHost), let authority = head.authority, !believes || head.field(.forwardedHost) == .absent {
      output.append("X-Forwarded-Host: ")
      head.withBytes { output.append($0.bytes(at: authority)) }
      output.append("\r\n")
    }
    if let fields = connection.tls?.certificateFields { output.append(fields) }
    guard adds.contains(.requestID) else { return }
    output.append("X-Request-Id: ")
    record.appendIdentifier(to: &output)
    output.append("\r\n")
  }
}
