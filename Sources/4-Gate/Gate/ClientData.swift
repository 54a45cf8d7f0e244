import AppAttest
import Bytes
import Cryptography
import HTTP

/// The JSON object that an app signed (wire.md, "A gated request"). What it says is compared with the request it came with.
///
/// Its strings are places in the text that it was read from, which the caller keeps.
struct ClientData: Equatable {
  /// In bytes.
  static let byteCountMax = 4096

  /// The challenge text.
  var challenge: JSONString?
  /// The request method.
  var method: JSONString?
  /// The path, in the form that the route compares.
  var path: JSONString?
  /// The raw query.
  var query: JSONString?
  /// The request's host.
  var host: JSONString?
  /// SHA-256 of the body.
  var bodyDigest: SHA256Digest?
  /// The key that signed.
  var keyIdentifier: KeyIdentifier?

  /// Why client data is refused.
  struct Failure: Error, Equatable {
    var code: ProblemCode
    var detail: String
  }

  private static let names: InlineArray<7, StaticString> = ["challenge", "method", "path", "query", "host", "bodySHA256", "keyId"]

  /// No member.
  init() {}

  /// Reads the named members of `json`.
  init(json: Span<UInt8>) throws(Failure) {
    guard json.count <= Self.byteCountMax else {
      throw Failure(code: .clientDataMalformed, detail: "The client data is longer than 4096 bytes.")
    }
    let values: InlineArray<7, JSONString?>
    do throws(JSONFailure) {
      values = try JSONObjectReader.members(Self.names, of: json)
    } catch {
      throw Failure(code: .clientDataMalformed, detail: "The client data \(error.rawValue).")
    }
    challenge = values[0]
    method = values[1]
    path = values[2]
    query = values[3]
    host = values[4]
    if let text = values[5] {
      guard let digest = Self.digest(text, in: json) else {
        throw Failure(code: .clientDataMalformed, detail: "bodySHA256 of the client data is neither base64 nor hexadecimal of 32 bytes.")
      }
      bodyDigest = digest
    }
    if let text = values[6] {
      guard let key = KeyIdentifier(base64: text.decoded(in: json).span) else {
        throw Failure(code: .keyIDMalformed, detail: "keyId of the client data is not base64 of 32 bytes.")
      }
      keyIdentifier = key
    }
  }

  private static func digest(_ text: JSONString, in json: Span<UInt8>) -> SHA256Digest? {
    text.hasEscapes ? digest(text.decoded(in: json).span) : digest(json.bytes(at: text.range))
  }

  /// 64 hexadecimal digits, or base64 of 32 bytes, which is never that long.
  private static func digest(_ text: Span<UInt8>) -> SHA256Digest? {
    guard text.count == SHA256Digest.byteCount * 2 else { return SHA256Digest(base64: text) }
    return Hexadecimal.decode(text).flatMap { SHA256Digest($0.span) }
  }
}
