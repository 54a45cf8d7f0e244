public import Bytes

/// Who counts as one client where limits are by address: an IPv4 address, or the /64 that one IPv6 subscriber has for himself.
public struct ClientNetwork: Sendable, Hashable {
  /// The IPv4 address, or the first eight bytes of the IPv6 address.
  public let bits: UInt64
  /// Which of the two it is.
  public let isIPv4: Bool

  /// The network of an address. An IPv4 address inside IPv6 counts as IPv4.
  public init(_ address: IPAddress) {
    bits = address.isIPv4 ? address.low : address.high
    isIPv4 = address.isIPv4
  }

  /// The network of a socket's address; nil for a Unix socket, which has none.
  public init?(_ address: SocketAddress) {
    guard let address = address.ip else { return nil }
    self.init(address)
  }
}
