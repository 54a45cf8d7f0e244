import Bytes
import Testing

@Suite struct IPAddressTests {
  private func parsed(_ text: String) -> IPAddress? { IPAddress(Array(text.utf8).span) }

  @Test(arguments: [
    ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("192.0.2.1", "192.0.2.1"), ("::", "::"), ("::1", "::1"),
    ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"), ("2001:db8::", "2001:db8::"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ("1::8", "1::8"), ("0:0:1:0:0:0:1:0", "0:0:1::1:0"), ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("::ffff:c000:201", "192.0.2.1"), ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"), ("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"),
    ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("fe80::a:b", "fe80::a:b"),
  ])
  func addressesAreReadAndWrittenInOneForm(text: String, form: String) throws {
    let read = try #require(parsed(text))
    #expect(read.description == form)
    #expect(parsed(form) == read)
  }

  @Test(arguments: [
    "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.04", "1..2.3", ".1.2.3.4", "1.2.3.4.", "1.2.3.4 ", "0x1.2.3.4",
    "+1.2.3.4",
    ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "::1:", ":1::", "12345::", "g::1", "[::1]", "fe80::1%eth0", "::1.2.3",
    "1:2:3:4:5:6:7:1.2.3.4", "::ffff:1.2.3.4:1", "1:2:3:4:5:6:7:8::", "1.2.3.4:80", "::0000000000000000000000000000000000000000000000",
  ])
  func whatIsNoAddressIsNone(text: String) { #expect(parsed(text) == nil) }

  @Test func bytesInNetworkOrderAreTheAddress() {
    #expect(IPAddress(networkOrder: ([192, 0, 2, 1] as [UInt8]).span) == parsed("192.0.2.1"))
    #expect(IPAddress(networkOrder: ([0x20, 1, 0xD, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]).span) == parsed("2001:db8::1"))
    #expect(IPAddress(networkOrder: ([1, 2, 3] as [UInt8]).span) == nil)
  }

  @Test(arguments: [
    ("10.0.0.0", 8, "10.255.255.255", true), ("10.0.0.0", 8, "11.0.0.0", false), ("10.1.2.3", 8, "10.9.9.9", true),
    ("0.0.0.0", 0, "203.0.113.9", true), ("0.0.0.0", 0, "::1", false), ("192.0.2.1", 32, "192.0.2.1", true),
    ("192.0.2.1", 32, "192.0.2.2", false), ("192.0.2.0", 31, "192.0.2.1", true), ("::", 0, "2001:db8::1", true),
    ("::", 0, "1.2.3.4", false),
    ("::1", 128, "::1", true), ("::1", 128, "::2", false), ("2001:db8::", 32, "2001:db8:ffff::1", true),
    ("2001:db8::", 32, "2001:db9::", false), ("2001:db8::", 64, "2001:db8::ffff:1", true), ("2001:db8::", 64, "2001:db8:0:1::", false),
    ("2001:db8::8000:0:0:0", 65, "2001:db8::9000:0:0:0", true), ("2001:db8::8000:0:0:0", 65, "2001:db8::7000:0:0:0", false),
  ])
  func aBlockHoldsTheAddressesThatShareItsPrefix(first: String, bits: Int, other: String, isInside: Bool) throws {
    let network = try #require(parsed(first).flatMap { IPNetwork($0, prefixBits: bits) })
    let address = try #require(parsed(other))
    #expect(network.contains(address) == isInside)
  }

  @Test func aPrefixIsNoLongerThanTheAddress() {
    func block(_ text: String, _ bits: Int) -> IPNetwork? { parsed(text).flatMap { IPNetwork($0, prefixBits: bits) } }
    #expect(block("10.0.0.0", 33) == nil)
    #expect(block("::", 129) == nil)
    #expect(block("::", -1) == nil)
    #expect(block("10.1.2.3", 8)?.description == "10.0.0.0/8")
  }
}
