import EventLoop

/// Rates of events and of bytes.
enum RateText {
  /// `50/s`, `600/m burst 20`, or `off`, which is nil.
  static func rate(_ text: String) throws(Wrong) -> Rate? {
    if text == "off" { return nil }
    let words = text.split(separator: " ")
    guard words.count == 1 || words.count == 3 && words[1] == "burst" else { throw malformed(text) }
    let parts = words[0].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let period = Rate.Period(rawValue: String(parts[1])) else { throw malformed(text) }
    let count = try number(parts[0], text)
    return Rate(count, per: period, burst: words.count == 3 ? try number(words[2], text) : nil)
  }

  private static func number(_ digits: Substring, _ text: String) throws(Wrong) -> Int {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { throw malformed(text) }
    guard digits.utf8.count <= 12, let number = Int(digits), 1...Rate.countMax ~= number else {
      throw Wrong("must count from 1 to \(Rate.countMax), and is \"\(text)\"")
    }
    return number
  }

  private static func malformed(_ text: String) -> Wrong {
    Wrong("must be off or a rate such as 50/s, 600/m or \"10/s burst 20\", and is \"\(text)\"")
  }

  /// `1KiB/s` in bytes a second; `off` is 0.
  static func byteRate(_ text: String) throws(Wrong) -> Int {
    if text == "off" { return 0 }
    guard text.hasSuffix("/s") else { throw Wrong("must be off or a size a second such as 1KiB/s, and is \"\(text)\"") }
    return try Quantity.size(1_000...1 << 30)(String(text.dropLast(2)))
  }
}
