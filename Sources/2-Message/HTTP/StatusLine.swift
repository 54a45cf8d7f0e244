import Bytes

/// The parts of a status line.
struct StatusLine {
  var version = HTTPVersion.http11
  var status = 0
  /// May be empty.
  var reason = ByteRange.empty

  /// Parses `line` (RFC 9112 section 4). The space behind the status may be missing when there is no reason: many servers leave it out,
  /// and it says nothing.
  mutating func parse(_ line: ByteRange, in bytes: Span<UInt8>) -> HeadRefusal? {
    let text = bytes.bytes(at: line)
    guard text.count >= 12, text[8] == 0x20 else { return .statusLineMalformed }
    switch HTTPVersion.parse(text.extracting(first: 8)) {
    case .success(let version): self.version = version
    case .failure: return .statusLineMalformed
    }
    status = 0
    for index in 9..<12 {
      guard ASCII.isDigit(text[index]) else { return .statusLineMalformed }
      status = status * 10 + Int(text[index] - UInt8(ascii: "0"))
    }
    if text.count > 12 {
      guard text[12] == 0x20 else { return .statusLineMalformed }
      reason = ByteRange(from: line.start + 13, to: line.end)
    } else {
      reason = .empty
    }
    return (100...599).contains(status) ? nil : .statusOutOfRange
  }
}
