import Bytes
import Foundation
import HTTP

/// A PROXY header is taken only whole, for one meaning however it is cut, and for the one that a plain reading has.
func checkProxyHeader(_ bytes: [UInt8]) throws(Broken) {
  let whole = ProxyHeader.parse(bytes.span)
  var hasEnded = false
  for count in 0...bytes.count {
    let outcome = ProxyHeader.parse(Array(bytes.prefix(count)).span)
    if outcome == .incomplete {
      try require(!hasEnded, "a header that had ended goes on")
      try require(count < ProxyHeader.binaryBytesMax, "a header has no end")
    } else {
      hasEnded = true
      try requireEqual(outcome, whole, "a header that is cut means something else")
    }
  }
  guard case .complete(let header, let byteCount) = whole else { return }
  try require(byteCount > 0 && byteCount <= bytes.count, "the header ends behind the input")
  try requireEqual(ProxyHeader.parse(Array(bytes.prefix(byteCount)).span), whole, "what follows the header counts")
  guard case .client(let address, let port, _) = header else { return }
  let other = address.isIPv4 ? "TCP4 \(address) 0.0.0.0" : "TCP6 \(address) ::"
  // An IPv4 address inside IPv6 is written as what it is.
  let line = Array("PROXY \(other) \(port) 1\r\n".utf8)
  try requireEqual(
    ProxyHeader.parse(line.span), .complete(.client(address, port: port, isTLS: false), byteCount: line.count), "written and read again")
}

/// The client that a chain of proxies names is found as by a plain reading of the list, with the system's own reading of addresses.
func checkForwardedFor(_ bytes: [UInt8]) throws(Broken) {
  let value = bytes.filter { $0 >= 0x20 && $0 != 0x7F }
  let head = RequestHead()
  let text = Array("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: ".utf8) + value + Array("\r\n\r\n".utf8)
  guard case .complete = head.parse(text.span, limits: HeadLimits()) else { return }
  let trusted = TrustedPeers(networks: [IPNetwork(IPAddress(ipv4: 0x0A00_0000), prefixBits: 8)!])
  let outcome = head.forwarding(trusting: trusted)
  let entries = value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { entry in
    String(decoding: entry, as: UTF8.self).trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
  }
  guard case .believed(let forwarding) = outcome else {
    // Whatever else is refused, a list of plain addresses is not.
    let isPlain = entries.count <= 32 && entries.allSatisfy { plainAddress($0) != nil }
    return try require(!isPlain, "a list of addresses is refused")
  }
  var expected: [UInt8]?
  for entry in entries.reversed() {
    guard let address = plainAddress(withoutPort(entry)) else { break }
    expected = address
    // 10.0.0.0/8, alone or inside IPv6.
    guard address[12] == 10, address[..<10].allSatisfy({ $0 == 0 }), address[10] == 0xFF, address[11] == 0xFF else { break }
  }
  try requireEqual(forwarding.client.map { plainAddress($0.description) }, expected.map { $0 }, "another client")
}

/// The 16 bytes of an address, IPv4 inside IPv6, as the system reads it.
private func plainAddress(_ text: String) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 16)
  if inet_pton(AF_INET, text, &bytes) == 1 { return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + bytes[..<4] }
  return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
}

private func withoutPort(_ entry: String) -> String {
  if entry.hasPrefix("["), let end = entry.firstIndex(of: "]") { return String(entry[entry.index(after: entry.startIndex)..<end]) }
  guard let colon = entry.firstIndex(of: ":"), colon == entry.lastIndex(of: ":") else { return entry }
  return String(entry[..<colon])
}
