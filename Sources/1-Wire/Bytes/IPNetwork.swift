/// A block of addresses: an address and the number of leading bits that all of them share (RFC 4632).
public struct IPNetwork: Sendable, Hashable {
  /// The first address: every bit behind the prefix is 0.
  public let address: IPAddress
  /// 0 to 32 for IPv4, 0 to 128 for IPv6.
  public let prefixBits: Int

  /// The block that `address` lies in; nil when the address has fewer bits than the prefix.
  public init?(_ address: IPAddress, prefixBits: Int) {
    guard 0...(address.isIPv4 ? 32 : 128) ~= prefixBits else { return nil }
    self.address = Self.masked(address, prefixBits)
    self.prefixBits = prefixBits
  }

  /// Whether `address` lies in the block; never one of the other family.
  public func contains(_ address: IPAddress) -> Bool {
    address.isIPv4 == self.address.isIPv4 && Self.masked(address, prefixBits) == self.address
  }

  private static func masked(_ address: IPAddress, _ bits: Int) -> IPAddress {
    if address.isIPv4 {
      return IPAddress(ipv4: UInt32(truncatingIfNeeded: address.low) & UInt32(truncatingIfNeeded: ~(UInt64(0xFFFF_FFFF) >> UInt64(bits))))
    }
    // Swift's shifts by the width or more give 0.
    return IPAddress(
      high: address.high & ~(UInt64.max >> UInt64(min(bits, 64))), low: address.low & ~(UInt64.max >> UInt64(max(bits - 64, 0))))
  }
}

extension IPNetwork: CustomStringConvertible {
  /// `10.0.0.0/8`, `2001:db8::/32`.
  public var description: String { "\(address)/\(prefixBits)" }
}
