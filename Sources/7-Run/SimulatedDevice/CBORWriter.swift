/// Writes the CBOR of App Attest's objects (RFC 8949 section 3): definite lengths in their shortest form, members in the order given, as devices do.
struct CBORWriter {
  private(set) var bytes: [UInt8] = []

  mutating func map(_ count: Int) { head(majorType: 5, count) }
  mutating func array(_ count: Int) { head(majorType: 4, count) }

  mutating func text(_ text: String) {
    head(majorType: 3, text.utf8.count)
    bytes += text.utf8
  }

  mutating func byteString(_ content: [UInt8]) {
    head(majorType: 2, content.count)
    bytes += content
  }

  /// A whole number, negative or not.
  mutating func number(_ value: Int) {
    if value >= 0 { head(majorType: 0, value) } else { head(majorType: 1, -1 - value) }
  }

  private mutating func head(majorType: UInt8, _ value: Int) {
    let type = majorType << 5
    switch value {
    case 0..<24: bytes.append(type | UInt8(value))
    case 24..<256: bytes += [type | 24, UInt8(value)]
    case 256..<65_536: bytes += [type | 25, UInt8(value >> 8), UInt8(value & 255)]
    default: preconditionFailure("nothing of App Attest is that long")
    }
  }
}
