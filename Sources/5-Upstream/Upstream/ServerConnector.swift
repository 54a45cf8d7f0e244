import EventLoop
import TLS

/// The way to one server at one address: with TLS, where it speaks that. One connection is resumed from the other.
struct ServerConnector {
  private let address: SocketAddress
  private let isSecured: Bool
  private let client: TLSClient?

  init(_ state: ServerState, _ identity: TLSClientIdentity?) {
    address = state.address
    isSecured = state.secureName != nil
    client = state.secureName.flatMap { name in identity.map { TLSClient($0, name: name, offersHTTP: true) } }
  }

  /// The plain way to an address.
  init(to address: SocketAddress) {
    self.address = address
    isSecured = false
    client = nil
  }

  /// A connection, on which nothing was sent yet.
  func connect(on loop: EventLoop, until deadline: Instant) async throws(SocketFailure) -> Socket {
    guard isSecured else { return try await Socket.connect(to: address, on: loop, until: deadline) }
    guard let client else { throw .notSecured("whom to trust is not known") }
    return try await client.connect(to: address, on: loop, until: deadline)
  }
}
