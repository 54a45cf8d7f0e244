import Bytes
import HTTP
import Testing

private let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

private func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8], count: Int? = nil) -> [UInt8] {
  let count = count ?? rest.count
  return signature + [command, family, UInt8(count >> 8), UInt8(count & 255)] + rest
}

private let ipv4: [UInt8] = [192, 0, 2, 1, 192, 0, 2, 2, 0xDC, 0x04, 0x01, 0xBB]
private let ipv6: [UInt8] =
  [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [2] + [
    0xDC, 0x04, 0x01, 0xBB,
  ]

private func address(_ text: String) -> IPAddress { IPAddress(Array(text.utf8).span)! }

private func field(_ type: UInt8, _ value: [UInt8]) -> [UInt8] { [type, UInt8(value.count >> 8), UInt8(value.count & 255)] + value }

/// CRC-32C of a header with zeros where the checksum stands.
private func checksum(_ bytes: [UInt8]) -> [UInt8] {
  var sum: UInt32 = 0xFFFF_FFFF
  for byte in bytes {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0x82F6_3B78 : 0) }
  }
  return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ~sum >> UInt32($0)) }
}

struct ProxyCase: Sendable {
  let bytes: [UInt8]
  let header: ProxyHeader

  init(_ text: String, _ header: ProxyHeader) { self.init(Array(text.utf8), header) }

  init(_ bytes: [UInt8], _ header: ProxyHeader) {
    self.bytes = bytes
    self.header = header
  }
}

private let client = ProxyHeader.client(address("192.0.2.1"), port: 56_324, isTLS: false)
private let client6 = ProxyHeader.client(address("2001:db8::1"), port: 56_324, isTLS: false)

private let valid: [ProxyCase] = [
  ProxyCase("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", client),
  ProxyCase("PROXY TCP6 2001:db8::1 2001:db8::2 56324 443\r\n", client6),
  ProxyCase("PROXY TCP4 192.0.2.1 192.0.2.2 0 65535\r\n", .client(address("192.0.2.1"), port: 0, isTLS: false)),
  ProxyCase("PROXY UNKNOWN\r\n", .local),
  ProxyCase("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n", .local),
  ProxyCase(binary(0x21, 0x11, ipv4), client),
  ProxyCase(binary(0x21, 0x21, ipv6), client6),
  ProxyCase(binary(0x20, 0x00, []), .local),
  ProxyCase(binary(0x20, 0x11, ipv4), .local),
  ProxyCase(binary(0x20, 0x11, [1, 2, 3]), .local),
  ProxyCase(binary(0x21, 0x00, []), .local),
  ProxyCase(binary(0x21, 0x00, field(0x04, [0, 0])), .local),
  ProxyCase(binary(0x21, 0x31, [UInt8](repeating: 0, count: 216)), .local),
  // Unknown fields, NOOP and an empty one are passed over; the flag of TLS is read.
  ProxyCase(binary(0x21, 0x11, ipv4 + field(0x04, [0, 0, 0]) + field(0xEA, Array("vpce".utf8)) + field(0x05, [])), client),
  ProxyCase(
    binary(0x21, 0x11, ipv4 + field(0x20, [1, 0, 0, 0, 0] + field(0x21, Array("TLSv1.3".utf8)))),
    .client(address("192.0.2.1"), port: 56_324, isTLS: true)),
  ProxyCase(binary(0x21, 0x11, ipv4 + field(0x20, [0, 0, 0, 0, 0])), client),
  ProxyCase(
    {
      let draft = binary(0x21, 0x11, ipv4 + field(0x03, [0, 0, 0, 0]))
      return draft.dropLast(4) + checksum(draft)
    }(), client),
]

private let malformed: [(bytes: [UInt8], fault: ProxyHeaderFault)] =
  [
    (Array("GET / HTTP/1.1\r\n".utf8), .signature), (Array("PROXYTCP4".utf8), .signature), (Array("PRI * HTTP/2.0\r\n".utf8), .signature),
    (Array("proxy TCP4".utf8), .signature), (Array("\r\n\r\nGET".utf8), .signature), (Array(" PROXY".utf8), .signature),
    (Array("\u{16}\u{3}\u{1}".utf8), .signature),
  ]
  + [
    "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\n", "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\rX",
    "PROXY TCP4  192.0.2.1 192.0.2.2 56324 443\r\n",
    "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443 \r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 56324\r\n",
    "PROXY TCP4 192.0.2.1 192.0.2.2 056324 443\r\n",
    "PROXY TCP4 192.0.2.1 192.0.2.2 65536 443\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 -1 443\r\n",
    "PROXY TCP4 192.0.2.01 192.0.2.2 1 443\r\n",
    "PROXY TCP4 2001:db8::1 2001:db8::2 1 443\r\n", "PROXY TCP6 192.0.2.1 192.0.2.2 1 443\r\n", "PROXY TCP6 fe80::1%e fe80::2 1 443\r\n",
    "PROXY tcp4 192.0.2.1 192.0.2.2 1 443\r\n", "PROXY UDP4 192.0.2.1 192.0.2.2 1 443\r\n", "PROXY \r\n", "PROXY  TCP4\r\n",
    "PROXY TCP4\r\n",
    "PROXY TCP4 192.0.2.1\t192.0.2.2 1 443\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 443\0\r\n",
  ].map { (Array($0.utf8), .line) } + [
    (Array(("PROXY UNKNOWN " + String(repeating: "a", count: 100) + "\r\n").utf8), .tooLong),
    (binary(0x11, 0x11, ipv4), .kind), (binary(0x31, 0x11, ipv4), .kind), (binary(0x22, 0x11, ipv4), .kind),
    (binary(0x21, 0x12, ipv4), .kind),
    (binary(0x21, 0x41, ipv4), .kind), (binary(0x21, 0x10, ipv4), .kind), (binary(0x20, 0x43, []), .kind),
    (binary(0x21, 0x11, Array(ipv4.dropLast())), .length), (binary(0x21, 0x21, Array(ipv6.dropLast())), .length),
    (binary(0x21, 0x31, [UInt8](repeating: 0, count: 215)), .length), (binary(0x21, 0x11, ipv4 + [4]), .length),
    (binary(0x21, 0x11, ipv4 + [4, 0, 1]), .length), (binary(0x21, 0x11, ipv4 + field(0x20, [1, 0, 0, 0])), .length),
    (binary(0x21, 0x11, ipv4 + field(0x03, [0, 0, 0, 0])), .checksum), (binary(0x21, 0x11, ipv4 + field(0x03, [0, 0, 0])), .checksum),
    (binary(0x21, 0x11, ipv4, count: 4_081), .tooLong), (binary(0x20, 0x00, [], count: 65_535), .tooLong),
  ]

@Suite struct ProxyHeaderTests {
  @Test(arguments: valid)
  func aHeaderSaysForWhomTheProxySpeaks(example: ProxyCase) {
    let whole = ProxyHeaderOutcome.complete(example.header, byteCount: example.bytes.count)
    #expect(ProxyHeader.parse(example.bytes.span) == whole)
    // What follows is the request's.
    #expect(ProxyHeader.parse((example.bytes + Array("GET / HTTP/1.1\r\n".utf8)).span) == whole)
  }

  @Test(arguments: valid)
  func nothingCountsBeforeTheWholeHeaderIsThere(example: ProxyCase) {
    for count in 0..<example.bytes.count {
      #expect(ProxyHeader.parse(Array(example.bytes.prefix(count)).span) == .incomplete, "\(count)")
    }
  }

  @Test(arguments: malformed)
  func whatIsNoHeaderIsNeverGuessedAt(bytes: [UInt8], fault: ProxyHeaderFault) {
    #expect(ProxyHeader.parse(bytes.span) == .malformed(fault))
    // However it is cut: first it is incomplete, then it is refused, for the same reason, and never taken.
    var outcome = ProxyHeaderOutcome.incomplete
    for count in 0...bytes.count where outcome == .incomplete { outcome = ProxyHeader.parse(Array(bytes.prefix(count)).span) }
    #expect(outcome == .malformed(fault))
  }

  @Test func everySpoiledByteIsTakenSafely() {
    for example in valid {
      for index in example.bytes.indices {
        for value in [0, 1, 0x0A, 0x0D, 0x20, 0x7F, 0xFF] as [UInt8] {
          var bytes = example.bytes
          bytes[index] = value
          if case .complete(_, let count) = ProxyHeader.parse(bytes.span) { #expect(count <= bytes.count) }
        }
      }
    }
  }
}
