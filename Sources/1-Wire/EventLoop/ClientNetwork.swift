/// Who counts as one client where limits are by address: an IPv4 address, or the /64 that one IPv6 subscriber has for himself.
public struct ClientNetwork: Sendable, Hashable {
  /// The IPv4 address, or the first eight bytes of the IPv6 address.
  public let bits: UInt64
  /// Which of the two it is.
  public let isIPv4: Bool

  /// The network of an address; nil for a Unix socket, which has none. An IPv4 address inside IPv6 counts as IPv4.
  public init?(_ address: SocketAddress) {
    switch address.family {
    case .ipv4(let host, _):
      bits = UInt64(host)
      isIPv4 = true
    case .ipv6(let octets, _, _):
      isIPv4 = octets[0..<10].allSatisfy { $0 == 0 } && octets[10] == 0xFF && octets[11] == 0xFF
      bits = (isIPv4 ? octets[12..<16] : octets[0..<8]).reduce(0) { $0 << 8 | UInt64($1) }
    case .unix: return nil
    }
  }
}
