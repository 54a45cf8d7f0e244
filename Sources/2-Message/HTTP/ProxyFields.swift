import Bytes

/// The type-length-value fields behind the addresses of a PROXY header of version 2 (section 2.2.1). Unknown ones are passed over.
struct ProxyFields {
  /// Whether the client speaks TLS with the proxy (section 2.2.5).
  private(set) var isTLS = false

  private static let checksum: UInt8 = 0x03
  private static let tls: UInt8 = 0x20

  /// Reads the fields of `header`, which is whole, from `start` on; nil when they are well-formed.
  mutating func read(_ header: Span<UInt8>, from start: Int) -> ProxyHeaderFault? {
    var hasChecksum = false
    var index = start
    while index < header.count {
      guard header.count - index >= 3 else { return .length }
      let count = Int(header[index + 1]) << 8 + Int(header[index + 2])
      guard header.count - index - 3 >= count else { return .length }
      switch header[index] {
      case Self.checksum:
        guard count == 4, !hasChecksum else { return .checksum }
        hasChecksum = true
        guard Self.isChecksumRight(of: header, at: index + 3) else { return .checksum }
      case Self.tls:
        // One byte of flags, four of a verification result, then fields of its own.
        guard count >= 5 else { return .length }
        isTLS = header[index + 3] & 1 == 1
      default: break
      }
      index += 3 + count
    }
    return nil
  }

  /// Section 2.2.3: CRC-32C (RFC 4960 appendix B) over the whole header, with zeros in the place of the checksum.
  private static func isChecksumRight(of header: Span<UInt8>, at start: Int) -> Bool {
    var sum: UInt32 = 0xFFFF_FFFF
    var sent: UInt32 = 0
    for index in header.indices {
      let isChecksum = index >= start && index < start + 4
      if isChecksum { sent = sent << 8 | UInt32(header[index]) }
      sum ^= UInt32(isChecksum ? 0 : header[index])
      for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
    }
    return ~sum == sent
  }
}
