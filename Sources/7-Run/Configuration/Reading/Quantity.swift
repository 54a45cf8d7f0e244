/// Numbers with and without units, as proxy.yaml writes them.
enum Quantity {
  /// `250ms`, `30s`, `5m`, `1h`, in milliseconds, within bounds in milliseconds.
  static func duration(_ bounds: ClosedRange<Int>) -> (String) throws(Wrong) -> Int {
    { (text: String) throws(Wrong) -> Int in
      try bounded(text, durationUnits, bounds, "a duration such as 250ms, 30s, 5m or 1h")
    }
  }

  /// Milliseconds as proxy.yaml writes them.
  static func durationText(_ milliseconds: Int) -> String { written(milliseconds, durationUnits) }

  /// `64KiB`, `1MiB`, `64KB`, `1MB`, also `GiB` and `GB`, in bytes, within bounds in bytes.
  static func size(_ bounds: ClosedRange<Int>) -> (String) throws(Wrong) -> Int {
    { (text: String) throws(Wrong) -> Int in
      try bounded(text, sizeUnits, bounds, "a size such as 64KiB, 1MiB, 64KB or 1MB")
    }
  }

  /// A whole number within bounds.
  static func number(_ bounds: ClosedRange<Int>) -> (String) throws(Wrong) -> Int {
    { (text: String) throws(Wrong) -> Int in
      guard let number = digits(text[...]), bounds.contains(number) else {
        throw Wrong("must be a number from \(bounds.lowerBound) to \(bounds.upperBound), and is \"\(text)\"")
      }
      return number
    }
  }

  /// `true` or `false`.
  static func flag(_ text: String) throws(Wrong) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default: throw Wrong("must be true or false, and is \"\(text)\"")
    }
  }

  private static let durationUnits = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
  private static let sizeUnits = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000),
  ]

  private static func bounded(
    _ text: String, _ units: [(name: String, factor: Int)], _ bounds: ClosedRange<Int>, _ form: String
  ) throws(Wrong) -> Int {
    let number = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text[number.endIndex...]
    guard let value = digits(number), let factor = units.first(where: { $0.name == unit })?.factor else {
      throw Wrong("must be \(form), and is \"\(text)\"")
    }
    let (product, overflow) = value.multipliedReportingOverflow(by: factor)
    guard !overflow, bounds.contains(product) else {
      throw Wrong("must be from \(written(bounds.lowerBound, units)) to \(written(bounds.upperBound, units)), and is \"\(text)\"")
    }
    return product
  }

  /// In the largest unit that leaves a whole number.
  private static func written(_ amount: Int, _ units: [(name: String, factor: Int)]) -> String {
    let unit = units.last { amount >= $0.factor && amount % $0.factor == 0 } ?? units[0]
    return "\(amount / unit.factor)\(unit.name)"
  }

  private static func digits(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.count <= 12, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int(text)
  }
}

/// One word of a list of words.
func oneOf<Value>(_ words: [(name: String, value: Value)]) -> (String) throws(Wrong) -> Value {
  { (text: String) throws(Wrong) -> Value in
    if let word = words.first(where: { $0.name == text }) { return word.value }
    let names = words.map(\.name)
    throw Wrong("must be \(names.joined(separator: " or ")), and is \"\(text)\"\(Suggestion.phrase(for: text, among: names))")
  }
}
