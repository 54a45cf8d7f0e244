import Bytes
import EventLoop

/// Somebody at the other end of a connection, or behind a trusted peer: an address for logs and limits, never for the gate's decision.
struct Client {
  /// Nil where there is none: at a Unix socket.
  let address: IPAddress?
  /// As whom limits by address count him.
  var network: ClientNetwork? { address.map { ClientNetwork($0) } }
  /// For the log.
  let text: String
  /// As an entry of `X-Forwarded-For`; empty where there is no address.
  let forwardedFor: [UInt8]

  /// Who has this address.
  init(_ address: IPAddress) {
    self.init(address: address, text: address.description)
  }

  /// Who connected from there.
  init(_ socketAddress: SocketAddress) {
    let address = socketAddress.ip
    self.init(address: address, text: address?.description ?? "unix")
  }

  private init(address: IPAddress?, text: String) {
    self.address = address
    self.text = text
    forwardedFor = address == nil ? [] : Array(text.utf8)
  }
}
