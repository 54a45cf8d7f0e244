import Bytes
import Exchange

/// One entry of `trusted_proxies`.
enum TrustedPeerText: Equatable {
  case network(IPNetwork)
  /// Whoever connects by a Unix socket.
  case unix

  /// `10.0.0.0/8`, `192.0.2.7`, `fd00::/8`, `unix`.
  init(_ text: String) throws(Wrong) {
    let example = "such as 10.0.0.0/8, 192.0.2.7, fd00::/8 or unix"
    if text == "unix" {
      self = .unix
      return
    }
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(Array(parts[0].utf8).span) else {
      throw Wrong("must be an address or a block of addresses, \(example), and is \"\(text)\"")
    }
    if address.isIPv4 && parts[0].contains(":") { throw Wrong("is an IPv4 address inside IPv6; write it as \(address)") }
    guard parts.count == 2 else {
      self = .network(IPNetwork(address, prefixBits: address.isIPv4 ? 32 : 128)!)
      return
    }
    let isNumber = !parts[1].isEmpty && parts[1].utf8.count <= 3 && parts[1].utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
    guard isNumber, let bits = Int(parts[1]), let network = IPNetwork(address, prefixBits: bits) else {
      throw Wrong("must have a length from 0 to \(address.isIPv4 ? 32 : 128) behind the slash, and is \"\(text)\"")
    }
    // Somebody who wrote 10.0.0.7/8 may have meant one address or sixteen million.
    guard network.address == address else {
      throw Wrong("has an address within the block \(network); write that, or \(address) for the one address")
    }
    self = .network(network)
  }
}
