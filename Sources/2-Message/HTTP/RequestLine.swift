import Bytes

/// Which of the forms of RFC 9112 section 3.2 a target has; authority-form belongs to `CONNECT`, which is refused.
public enum TargetForm: Sendable, Equatable {
  /// `/path?query`.
  case origin
  /// `http://host/path?query`: its authority replaces `Host`.
  case absolute
  /// `*`, with `OPTIONS` only.
  case asterisk
}

/// The parts of a request line, as ranges of the head.
struct RequestLine {
  var method = RequestMethod.other
  var methodRange = ByteRange.empty
  /// As sent.
  var targetRange = ByteRange.empty
  var form = TargetForm.origin
  /// Of an absolute-form target.
  var authority: ByteRange?
  /// Path and query; without the slash when an absolute-form target has no path.
  var pathAndQuery = ByteRange.empty
  var version = HTTPVersion.http11

  /// Parses `line`: exactly two spaces, nothing around them (RFC 9112 section 3).
  mutating func parse(_ line: ByteRange, in bytes: Span<UInt8>) -> HeadRefusal? {
    var index = line.start
    while index < line.end, Token.contains(bytes[index]) { index += 1 }
    methodRange = ByteRange(from: line.start, to: index)
    guard !methodRange.isEmpty, methodRange.count <= HeadLimits.methodBytesMax else { return .methodMalformed }
    // Methods are case-sensitive (RFC 9110 section 9.1), but there are frameworks that read `post` as POST: no route may judge it as
    // another method than the upstream does.
    for place in methodRange.start..<methodRange.end where ASCII.isLowerCase(bytes[place]) { return .methodMalformed }
    guard index < line.end, bytes[index] == 0x20 else { return index < line.end ? .methodMalformed : .requestLineMalformed }
    let targetStart = index + 1
    index = targetStart
    while index < line.end, Self.isTargetByte(bytes[index]) { index += 1 }
    targetRange = ByteRange(from: targetStart, to: index)
    guard index < line.end else { return .requestLineMalformed }
    guard bytes[index] == 0x20 else { return bytes[index] == UInt8(ascii: "#") ? .fragment : .targetMalformed }
    guard !targetRange.isEmpty else { return .requestLineMalformed }
    switch HTTPVersion.parse(bytes.extracting((index + 1)..<line.end)) {
    case .success(let version): self.version = version
    case .failure(.notSupported): return .versionNotSupported
    case .failure(.malformed): return .versionMalformed
    }
    method = RequestMethod(bytes.bytes(at: methodRange))
    if method == .connect || method == .trace { return .methodNotAllowed }
    return parseTarget(bytes)
  }

  private mutating func parseTarget(_ bytes: Span<UInt8>) -> HeadRefusal? {
    authority = nil
    pathAndQuery = targetRange
    form = .origin
    if bytes[targetRange.start] == UInt8(ascii: "/") { return nil }
    if targetRange.count == 1, bytes[targetRange.start] == UInt8(ascii: "*") {
      form = .asterisk
      return method == .options ? nil : .targetMalformed
    }
    return parseAbsoluteTarget(bytes)
  }

  private mutating func parseAbsoluteTarget(_ bytes: Span<UInt8>) -> HeadRefusal? {
    let target = bytes.bytes(at: targetRange)
    let schemeCount: Int
    if target.count >= 7, target.extracting(first: 7).equalsIgnoringCase("http://") {
      schemeCount = 7
    } else if target.count >= 8, target.extracting(first: 8).equalsIgnoringCase("https://") {
      schemeCount = 8
    } else {
      return .targetMalformed
    }
    var end = schemeCount
    while end < target.count, target[end] != UInt8(ascii: "/"), target[end] != UInt8(ascii: "?") { end += 1 }
    guard Authority(target.extracting(schemeCount..<end)) != nil else { return .hostMalformed }
    authority = ByteRange(start: targetRange.start + schemeCount, count: end - schemeCount)
    pathAndQuery = ByteRange(start: targetRange.start + end, count: target.count - end)
    // RFC 9112 section 3.2.4: without path and query it is the server as a whole that OPTIONS asks about.
    form = method == .options && pathAndQuery.isEmpty ? .asterisk : .absolute
    return nil
  }

  /// Visible ASCII without `"`, `<`, `>`, which no client that encodes at all leaves as they are, and `#`.
  ///
  /// Of the other bytes that RFC 3986 forbids, browsers send ``\^`{|}`` raw in queries; in paths they are the router's affair.
  @inline(__always)
  private static func isTargetByte(_ byte: UInt8) -> Bool {
    let mask: UInt64 = byte < 64 ? 0xAFFF_FFF2_0000_0000 : 0x7FFF_FFFF_FFFF_FFFF
    return byte < 128 && (mask >> UInt64(byte & 63)) & 1 == 1
  }
}
