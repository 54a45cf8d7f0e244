import Bytes
import Routing

/// Paths, hosts and methods of routes.
enum RouteText {
  static func pattern(_ text: String) throws(Wrong) -> PathPattern {
    do throws(PathPatternFailure) {
      return try PathPattern(text)
    } catch {
      throw Wrong("\(error.message); it is \"\(text)\"")
    }
  }

  /// One path, in normal form and without a final slash.
  static func endpoint(_ text: String) throws(Wrong) -> String {
    let pattern = try pattern(text)
    guard pattern.features.isEmpty, !pattern.acceptsRest, !pattern.segments.contains(.any), !pattern.segments.isEmpty else {
      throw Wrong("must be one path, such as /attest/challenge, without \"*\", \";\" or an encoded slash, and is \"\(text)\"")
    }
    let bytes = Array(text.utf8)
    guard case .path(let path) = RequestPath.normalise(bytes.span) else { throw Wrong("has no normal form") }
    let normal = Array(copying: path.normalForm(in: bytes.span))
    return String(decoding: normal.last == UInt8(ascii: "/") ? normal.dropLast() : normal[...], as: UTF8.self)
  }

  static func host(_ text: String) throws(Wrong) -> String {
    if text.contains("*") { throw Wrong("must be one host; leave the key out for every host") }
    if text.contains("://") { throw Wrong("must be a host without a scheme, such as api.example.com") }
    let isIPv6 = text.hasPrefix("[") && text.hasSuffix("]")
    if !isIPv6 && text.contains(":") { throw Wrong("must be a host without a port, since ports are not compared, and is \"\(text)\"") }
    return try Address.authority(text)
  }

  static func method(_ text: String) throws(Wrong) -> String {
    guard FieldText.isToken(text), text.utf8.count <= 32 else { throw Wrong("must be a method, such as GET, and is \"\(text)\"") }
    if text == "CONNECT" || text == "TRACE" { throw Wrong("\(text) is always answered 405; remove it") }
    if text != text.uppercased() { throw Wrong("methods are case-sensitive; did you mean \"\(text.uppercased())\"?") }
    return text
  }
}
