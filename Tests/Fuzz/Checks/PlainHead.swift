/// A head taken apart in the plainest way, as a reader would who trusts that it is well-formed: what the parsers say is held against it.
struct PlainHead {
  var startLine: [UInt8]
  var fields: [(name: [UInt8], value: [UInt8])]

  /// Nil when the lines do not all end with CRLF, a field has no colon, or there is no empty line at the very end.
  init?(_ bytes: [UInt8]) {
    var lines: [[UInt8]] = []
    var line: [UInt8] = []
    for byte in bytes {
      if byte == 10, line.last == 13 {
        lines.append(line.dropLast())
        line = []
      } else {
        line.append(byte)
      }
    }
    // One empty line is forgiven before a request.
    if lines.first == [] { lines.removeFirst() }
    guard line.isEmpty, lines.count >= 2, lines.last == [] else { return nil }
    startLine = lines[0]
    fields = []
    for line in lines[1..<lines.count - 1] {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      fields.append((Self.lowerCased(line[..<colon]), Self.trimmed(line[(colon + 1)...])))
    }
  }

  /// The values of the fields called `name`, which is in lower case.
  func values(_ name: String) -> [String] {
    fields.filter { $0.name == Array(name.utf8) }.map { String(decoding: $0.value, as: UTF8.self) }
  }

  /// Whether these fields are among the others', in the same order.
  func isWithin(_ other: PlainHead) -> Bool {
    var rest = other.fields[...]
    for field in fields {
      guard let index = rest.firstIndex(where: { $0 == field }) else { return false }
      rest = rest[(index + 1)...]
    }
    return true
  }

  /// Whether a byte stands in it that ends a line somewhere, or a string.
  var holdsControls: Bool {
    func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }
    return startLine.contains(where: isControl)
      || fields.contains { $0.name.contains(where: isControl) || $0.value.contains(where: isControl) }
  }

  private static func lowerCased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    bytes.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return Array(bytes)
  }
}
