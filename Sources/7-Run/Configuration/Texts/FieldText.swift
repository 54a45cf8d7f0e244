import HTTP

/// Names and values of header fields.
enum FieldText {
  /// Fields that frame or route a message or belong to one connection: the gate alone writes them (RFC 9110 section 7.6.1).
  private static let reserved = [
    "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "expect",
    "http2-settings",
  ]

  /// A token of RFC 9110 section 5.6.2.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// What is wrong with a name that an operator wants set or removed, and nil if nothing is.
  static func problem(ofName name: String) -> String? {
    if let problem = problem(ofToken: name) { return problem }
    let folded = folded(name)
    if reserved.contains(folded) { return "\(name) is the gate's own to write; remove it" }
    if folded.hasPrefix("x-app-attest-") { return "X-App-Attest-… is the gate's word to the upstream; remove it" }
    // What the data path would not take must not get as far as there.
    return FieldChanges.fault(name: name, value: "").map { "\(name): \($0); remove it" }
  }

  /// What is wrong with a field's value, and nil if nothing is (RFC 9110 section 5.5).
  static func problem(ofValue value: String) -> String? {
    if value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) {
      return "must not hold a line break or another control character"
    }
    if value.utf8.first == 0x20 || value.utf8.last == 0x20 || value.utf8.first == 0x09 || value.utf8.last == 0x09 {
      return "must not begin or end with white space"
    }
    return value.utf8.count > 8_192 ? "is longer than 8192 bytes" : nil
  }

  /// The name of a field that carries one of the gate's inputs, in lower case.
  static func input(_ name: String) throws(Wrong) -> String {
    if let problem = problem(ofToken: name) { throw Wrong(problem) }
    if name.contains("_") { throw Wrong("must not hold \"_\": such fields are dropped or confused with others; write \"\(folded(name))\"") }
    let lowered = name.lowercased()
    let outputs = ["status", "app", "environment", "counter", "reason"].map { "x-app-attest-" + $0 }
    if reserved.contains(lowered) || outputs.contains(lowered) || ["authorization", "cookie"].contains(lowered) {
      throw Wrong("\(name) has another meaning; choose a name of its own, such as X-App-Assertion")
    }
    return lowered
  }

  private static func problem(ofToken name: String) -> String? {
    isToken(name) && name.utf8.count <= 256 ? nil : "\"\(name)\" is no header name"
  }

  /// As CGI and its kin read it: they cannot tell `_` from `-`.
  private static func folded(_ name: String) -> String { String(name.lowercased().map { $0 == "_" ? "-" : $0 }) }
}
