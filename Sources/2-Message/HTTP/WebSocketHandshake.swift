public import Bytes

/// What the `Upgrade` fields of one head name.
struct UpgradeField {
  private var isRepeated = false
  private var namesWebSocket = false

  /// Whether it is the one protocol named, in one field: of a list it is the sender who would choose.
  var isWebSocket: Bool { namesWebSocket && !isRepeated }

  mutating func take(_ value: Span<UInt8>) {
    if namesWebSocket { isRepeated = true }
    namesWebSocket = value.equalsIgnoringCase("websocket")
    if !namesWebSocket { isRepeated = true }
  }
}

/// The opening handshake of a WebSocket (RFC 6455 section 4).
public enum WebSocketHandshake {
  /// What a server appends to the client's key before it makes the digest that proves that it has understood (section 4.2.2).
  public static let acceptSuffix = Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)

  /// Whether `text` is a client's key: 16 bytes in base64.
  static func isKey(_ text: Span<UInt8>) -> Bool {
    guard text.count == 24, text[22] == UInt8(ascii: "="), text[23] == UInt8(ascii: "=") else { return false }
    for index in 0..<22 {
      switch text[index] {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "+"), UInt8(ascii: "/"):
        continue
      default: return false
      }
    }
    return true
  }
}

extension RequestHead {
  /// Where the client's key is, if the request is a whole opening handshake (RFC 6455 section 4.1): HTTP/1.1, `GET`, no body,
  /// `Upgrade: websocket` and nothing else, `Connection: upgrade`, version 13 and a key. Anything less is an ordinary request.
  ///
  /// Asked after ``prepareFields(_:believesForwarding:)``: a key that `Connection` names is none.
  public var webSocketKey: ByteRange? {
    guard method == .get, version == .http11, framing == .none, parser.upgrade.isWebSocket, parser.connection.hasUpgrade else { return nil }
    guard case .one(let key) = field(named: Self.keyName.span), withBytes({ WebSocketHandshake.isKey($0.bytes(at: key)) }) else {
      return nil
    }
    guard case .one(let version) = field(named: Self.versionName.span), withBytes({ $0.bytes(at: version).equals("13") }) else {
      return nil
    }
    return key
  }

  private static let keyName = Array("sec-websocket-key".utf8)
  private static let versionName = Array("sec-websocket-version".utf8)
}
