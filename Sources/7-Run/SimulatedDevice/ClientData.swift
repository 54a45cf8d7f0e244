import Bytes

/// The client data of wire.md as an app encodes it: one flat JSON object whose slashes are escaped, since `JSONEncoder` escapes them.
public struct ClientData: Sendable, Equatable {
  /// The challenge's text, as the gate gave it.
  public var challenge: String?
  /// The request's method.
  public var method: String?
  /// `URL.path`, or the raw path for a route with `path_form: encoded`.
  public var path: String?
  /// The raw query without `?`.
  public var query: String?
  /// Lower case, without a default port.
  public var host: String?
  /// Base64 of SHA-256 over the body.
  public var bodySHA256: String?
  /// Base64 of the key identifier, for clients that cannot add a header.
  public var keyIdentifier: String?

  /// Client data without members.
  public init() {}

  /// The bytes that are hashed, signed and sent.
  public var encoded: [UInt8] {
    let members = [
      ("challenge", challenge), ("method", method), ("path", path), ("query", query), ("host", host), ("bodySHA256", bodySHA256),
      ("keyId", keyIdentifier),
    ]
    var json = [UInt8(ascii: "{")]
    for (name, value) in members {
      guard let value else { continue }
      if json.count > 1 { json.append(UInt8(ascii: ",")) }
      json += Self.quoted(name) + [UInt8(ascii: ":")] + Self.quoted(value)
    }
    return json + [UInt8(ascii: "}")]
  }

  private static func quoted(_ text: String) -> [UInt8] {
    var json = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): json += [UInt8(ascii: "\\"), byte]
      case 0x08: json += Array("\\b".utf8)
      case 0x09: json += Array("\\t".utf8)
      case 0x0A: json += Array("\\n".utf8)
      case 0x0C: json += Array("\\f".utf8)
      case 0x0D: json += Array("\\r".utf8)
      case 0..<0x20: json += Array("\\u00".utf8) + [Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
      default: json.append(byte)
      }
    }
    return json + [UInt8(ascii: "\"")]
  }
}
