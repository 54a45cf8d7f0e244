/// One HTTP/1.1 message as it came over the wire, read strictly and by rules written down here alone: the gate's own parser has no part
/// in it, so a mistake there cannot hide here.
public struct RawMessage: Sendable, CustomStringConvertible {
  /// The first line, without CRLF.
  public var startLine: String
  /// Field lines in order, names as sent.
  public var fields: [(name: String, value: String)]
  /// Every byte of the head, the empty line included.
  public var head: [UInt8]
  /// The body after transfer decoding.
  public var body: [UInt8] = []
  /// The sizes of the chunks, when it came in chunks.
  public var chunkSizes: [Int] = []
  /// Field lines after the last chunk.
  public var trailers: [(name: String, value: String)] = []
  /// Interim answers (1xx) that came before it.
  public var interim: [RawMessage] = []

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }
  /// The head and the beginning of the body.
  public var description: String { String(decoding: head, as: UTF8.self) + String(decoding: body.prefix(400), as: UTF8.self) }

  /// Every value of a field, in order.
  public func values(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  /// The value of a field, nil when it is absent. Several are put together so that no comparison takes them for one.
  public func value(_ name: String) -> String? {
    let found = values(name)
    return found.isEmpty ? nil : found.joined(separator: " AND ALSO ")
  }

  /// The status code of an answer.
  public var status: Int { Int(startLine.split(separator: " ", maxSplits: 2).dropFirst().first ?? "") ?? -1 }
  /// The method of a request.
  public var method: String { String(startLine.prefix { $0 != " " }) }
  /// The target of a request, as sent.
  public var target: String { String(startLine.split(separator: " ", omittingEmptySubsequences: false)[1]) }
}

/// How the end of a body is found.
public enum RawFraming: Sendable, Equatable {
  /// There is no body.
  case none
  /// So many bytes.
  case length(Int)
  /// Chunked.
  case chunked
  /// Up to the end of the connection.
  case untilClose
}

extension RawMessage {
  /// Reads a head, which ends with the empty line.
  public init(head bytes: [UInt8]) throws {
    head = bytes
    var lines = try Self.lines(bytes)
    guard lines.count >= 2, lines.removeLast().isEmpty else { throw MalformedMessage("the head does not end with an empty line") }
    startLine = lines.removeFirst()
    fields = try lines.map(Self.field)
  }

  /// Lines that each end with CRLF, and nothing else that ends a line.
  static func lines(_ bytes: [UInt8]) throws -> [String] {
    var lines: [String] = []
    var line: [UInt8] = []
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case 0x0D:
        guard index + 1 < bytes.count, bytes[index + 1] == 0x0A else { throw MalformedMessage("a CR stands alone in \(quoted(bytes))") }
        lines.append(String(decoding: line, as: UTF8.self))
        line = []
        index += 2
      case 0x0A: throw MalformedMessage("an LF stands alone in \(quoted(bytes))")
      case 0: throw MalformedMessage("a NUL in \(quoted(bytes))")
      case let byte:
        line.append(byte)
        index += 1
      }
    }
    guard line.isEmpty else { throw MalformedMessage("the last line has no end in \(quoted(bytes))") }
    return lines
  }

  static func field(_ line: String) throws -> (name: String, value: String) {
    guard let colon = line.firstIndex(of: ":") else { throw MalformedMessage("no colon in the field line '\(line)'") }
    let name = String(line[..<colon])
    let isToken = !name.isEmpty && name.utf8.allSatisfy { isTokenByte($0) }
    guard isToken else { throw MalformedMessage("'\(name)' is no field name") }
    let value = line[line.index(after: colon)...]
    guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
      throw MalformedMessage("a control in the value of '\(name)'")
    }
    return (name, String(trimmed(value)))
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  private static func trimmed(_ value: Substring) -> Substring {
    var value = value
    while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
    while let last = value.last, last == " " || last == "\t" { value.removeLast() }
    return value
  }

  static func quoted(_ bytes: [UInt8]) -> String { "'\(String(decoding: bytes.prefix(300), as: UTF8.self))'" }

  /// How the body of this request is framed (RFC 9112 section 6.3); everything ambiguous is a failure.
  public func requestFraming() throws -> RawFraming {
    try declaredFraming() ?? .none
  }

  /// How the body of this answer is framed; `method` is that of the request.
  public func answerFraming(to method: String) throws -> RawFraming {
    let declared = try declaredFraming()
    if 100..<200 ~= status || status == 204 {
      guard declared == nil else { throw MalformedMessage("a \(status) has no Content-Length and no Transfer-Encoding:\n\(self)") }
      return .none
    }
    if method == "HEAD" || status == 304 { return .none }
    return declared ?? .untilClose
  }

  private func declaredFraming() throws -> RawFraming? {
    let lengths = values("Content-Length")
    let codings = values("Transfer-Encoding")
    guard lengths.count + codings.count <= 1 else { throw MalformedMessage("the framing is ambiguous:\n\(self)") }
    if let coding = codings.first {
      guard coding.lowercased() == "chunked" else { throw MalformedMessage("the coding '\(coding)' is not chunked") }
      return .chunked
    }
    guard let text = lengths.first else { return nil }
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let length = Int(text) else {
      throw MalformedMessage("'\(text)' is no Content-Length")
    }
    return .length(length)
  }

  /// Fails unless the first line is one of an answer.
  func checkStatusLine() throws {
    let parts = startLine.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    let isStatusLine =
      parts.count == 3 && parts[0] == "HTTP/1.1" && parts[1].count == 3 && parts[1].utf8.allSatisfy { 0x30...0x39 ~= $0 }
    guard isStatusLine else { throw MalformedMessage("'\(startLine)' is no status line") }
  }

  /// Fails unless the first line is one of a request.
  func checkRequestLine() throws {
    let parts = startLine.split(separator: " ", omittingEmptySubsequences: false)
    let isRequestLine =
      parts.count == 3 && parts[2] == "HTTP/1.1" && !parts[0].isEmpty && parts[0].utf8.allSatisfy { Self.isTokenByte($0) }
      && (parts[1].hasPrefix("/") || parts[1] == "*") && parts[1].utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") }
    guard isRequestLine else { throw MalformedMessage("'\(startLine)' is no request line for an upstream") }
  }

  /// Fails unless there is one `Host`, of a name or address and perhaps a port.
  func checkHost() throws {
    guard values("Host").count == 1, let host = value("Host") else { throw MalformedMessage("not one Host:\n\(self)") }
    let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
    let port = host.dropFirst(host.hasPrefix("[") ? name.count + 2 : name.count)
    let isAddress = host.hasPrefix("[") && name.utf8.allSatisfy { Self.isHexadecimal($0) || ":.".utf8.contains($0) }
    let isName = name.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 | 0x20 || "-._~".utf8.contains($0) }
    let isPort = port.isEmpty || port.first == ":" && port.dropFirst().utf8.allSatisfy { 0x30...0x39 ~= $0 }
    guard !name.isEmpty, isAddress || isName, isPort else { throw MalformedMessage("'\(host)' is no Host") }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}
