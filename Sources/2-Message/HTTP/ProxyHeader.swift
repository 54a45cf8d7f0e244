public import Bytes

/// What the header of the PROXY protocol says about a connection (haproxy.org, proxy-protocol.txt, revision 2020/03/05).
public enum ProxyHeader: Sendable, Equatable {
  /// The proxy speaks for itself, as its health checks do, or does not know for whom: the socket's own address holds.
  case local
  /// The proxy speaks for this client.
  case client(IPAddress, port: UInt16, isTLS: Bool)
}

/// Why a connection that must begin with a PROXY header is closed. Nothing is ever guessed: the next bytes would be taken for a request.
public enum ProxyHeaderFault: String, Sendable, Equatable, CaseIterable {
  /// It begins with neither signature.
  case signature
  /// Version 1: not `PROXY`, the family, two addresses and two ports, one space between them, and CRLF.
  case line
  /// A version, command, family or transport that is none, or none that carries HTTP.
  case kind
  /// Longer than the line of version 1 may be (107 bytes), or than 4 KiB in version 2.
  case tooLong = "too_long"
  /// Addresses or type-length-value fields that go beyond the header.
  case length
  /// The checksum is wrong.
  case checksum
}

/// What the bytes at the beginning of a connection hold of a PROXY header.
public enum ProxyHeaderOutcome: Sendable, Equatable {
  /// It has not ended; read again from the same first byte when there are more. Nothing of it counts until then.
  case incomplete
  /// It took this many bytes.
  case complete(ProxyHeader, byteCount: Int)
  /// It is none.
  case malformed(ProxyHeaderFault)
}

extension ProxyHeader {
  /// The longest line of version 1, with its CRLF.
  public static let lineBytesMax = 107
  /// The longest header of version 2 that is taken, its first 16 bytes included.
  public static let binaryBytesMax = 4 << 10

  private static let binarySignature: InlineArray<12, UInt8> = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

  /// Reads a header of either version from the first bytes of a connection.
  ///
  /// Whatever it answers depends on the bytes alone, not on the pieces they came in.
  public static func parse(_ bytes: Span<UInt8>) -> ProxyHeaderOutcome {
    guard let first = bytes.isEmpty ? nil : bytes[0] else { return .incomplete }
    if first == UInt8(ascii: "P") { return ProxyLine.parse(bytes) }
    for index in 0..<min(12, bytes.count) where bytes[index] != binarySignature[index] { return .malformed(.signature) }
    guard bytes.count >= 16 else { return .incomplete }
    let count = 16 + Int(bytes[14]) << 8 + Int(bytes[15])
    guard count <= binaryBytesMax else { return .malformed(.tooLong) }
    guard bytes.count >= count else { return .incomplete }
    return binary(bytes.extracting(first: count))
  }

  /// Section 2.2: the whole header of version 2.
  private static func binary(_ header: Span<UInt8>) -> ProxyHeaderOutcome {
    let local = ProxyHeaderOutcome.complete(.local, byteCount: header.count)
    // A local connection's addresses and fields mean nothing, whatever they hold.
    if header[12] == 0x20 { return header[13] <= 0x32 && header[13] & 0x0F <= 2 ? local : .malformed(.kind) }
    guard header[12] == 0x21 else { return .malformed(.kind) }
    let addressBytes: Int
    switch header[13] {
    case 0x00: addressBytes = 0
    case 0x11: addressBytes = 4
    case 0x21: addressBytes = 16
    case 0x31: addressBytes = 108
    // Datagrams carry no HTTP.
    default: return .malformed(.kind)
    }
    let isIP = addressBytes == 4 || addressBytes == 16
    let fieldsStart = 16 + 2 * addressBytes + (isIP ? 4 : 0)
    guard fieldsStart <= header.count else { return .malformed(.length) }
    var fields = ProxyFields()
    if let fault = fields.read(header, from: fieldsStart) { return .malformed(fault) }
    // Of an unspecified or a Unix client there is no address to take over.
    guard isIP, let address = IPAddress(networkOrder: header.extracting(16..<16 + addressBytes)) else { return local }
    let port = UInt16(header[16 + 2 * addressBytes]) << 8 | UInt16(header[17 + 2 * addressBytes])
    return .complete(.client(address, port: port, isTLS: fields.isTLS), byteCount: header.count)
  }
}
