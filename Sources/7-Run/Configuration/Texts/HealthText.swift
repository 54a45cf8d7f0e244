/// What a health check asks for, and what it takes for an answer.
enum HealthText {
  private static let pathBytesMax = 1_024

  /// A path, perhaps with a query, as it stands in a request line (RFC 9112 section 3.2.1).
  static func path(_ text: String) throws(Wrong) -> String {
    guard text.hasPrefix("/") else { throw Wrong("must be a path such as /healthz, and is \"\(text)\"") }
    guard text.utf8.count <= pathBytesMax else { throw Wrong("is longer than \(pathBytesMax) bytes") }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
      throw Wrong("must be of ASCII without spaces, controls and \"#\"; write other characters as %20 and the like")
    }
    return text
  }

  /// `200` or `200-399`. Interim answers do not count.
  static func statuses(_ text: String) throws(Wrong) -> ClosedRange<Int> {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      part.utf8.count == 3 && part.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int(part) : nil
    }
    guard 1...2 ~= parts.count, numbers.count == parts.count, let first = numbers.first, let last = numbers.last,
      first <= last, first >= 200, last <= 599
    else {
      throw Wrong("must be a status or a range within 200 to 599, such as 200 or 200-399, and is \"\(text)\"")
    }
    return first...last
  }
}
