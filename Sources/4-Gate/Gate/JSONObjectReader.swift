import Bytes

/// Why a text is not the JSON object that was asked for.
enum JSONFailure: String, Error {
  case notUTF8 = "is not UTF-8"
  case notAnObject = "is not a JSON object"
  case syntax = "is not valid JSON"
  case trailingBytes = "has bytes behind the JSON object"
  case tooDeep = "is nested deeper than 8"
  case loneSurrogate = "has half of a surrogate pair"
  case repeatedMember = "has a member twice"
  case notAString = "has a member whose value must be a string and is not"
}

/// Reads one JSON object (RFC 8259) strictly and gives the string values of the members that were asked for.
///
/// What two readers could understand in two ways is refused: repeated members at any depth, lone surrogates, bytes behind the object,
/// text that is not UTF-8. Whoever calls bounds the length; the depth is bounded here.
struct JSONObjectReader: ~Copyable, ~Escapable {
  /// Objects and arrays within each other, the outermost included.
  static let depthMax = 8

  private let bytes: Span<UInt8>
  private var position = 0

  /// A reader over a whole text.
  @_lifetime(copy bytes)
  private init(_ bytes: Span<UInt8>) { self.bytes = bytes }

  /// The values of the members named `names`, in that order, nil where there is none; every other member is checked and ignored.
  static func members(_ names: [StaticString], of text: Span<UInt8>) throws(JSONFailure) -> [[UInt8]?] {
    guard (try? UTF8Span(validating: text)) != nil else { throw .notUTF8 }
    var reader = JSONObjectReader(text)
    var values = [[UInt8]?](repeating: nil, count: names.count)
    reader.skipWhiteSpace()
    guard reader.take(UInt8(ascii: "{")) else { throw .notAnObject }
    try reader.readMembers(depth: 1, names, into: &values)
    reader.skipWhiteSpace()
    guard reader.position == text.count else { throw .trailingBytes }
    return values
  }

  // MARK: Values

  /// Reads up to the closing brace; the opening one was taken.
  private mutating func readMembers(depth: Int, _ names: [StaticString], into values: inout [[UInt8]?]) throws(JSONFailure) {
    var others = Set<[UInt8]>()
    skipWhiteSpace()
    if take(UInt8(ascii: "}")) { return }
    repeat {
      skipWhiteSpace()
      let name = try readString()
      skipWhiteSpace()
      guard take(UInt8(ascii: ":")) else { throw .syntax }
      skipWhiteSpace()
      if let index = index(of: name, in: names) {
        guard values[index] == nil else { throw .repeatedMember }
        guard peek() == UInt8(ascii: "\"") else { throw .notAString }
        values[index] = decode(try readString())
      } else {
        guard others.insert(decode(name)).inserted else { throw .repeatedMember }
        try skipValue(depth: depth)
      }
      skipWhiteSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw .syntax }
  }

  private mutating func skipValue(depth: Int) throws(JSONFailure) {
    switch peek() {
    case UInt8(ascii: "\""):
      _ = try readString()
    case UInt8(ascii: "{"):
      guard depth < Self.depthMax else { throw .tooDeep }
      position += 1
      var none: [[UInt8]?] = []
      try readMembers(depth: depth + 1, [], into: &none)
    case UInt8(ascii: "["):
      guard depth < Self.depthMax else { throw .tooDeep }
      position += 1
      try skipElements(depth: depth + 1)
    case UInt8(ascii: "t"): try skip("true")
    case UInt8(ascii: "f"): try skip("false")
    case UInt8(ascii: "n"): try skip("null")
    default: try skipNumber()
    }
  }

  private mutating func skipElements(depth: Int) throws(JSONFailure) {
    skipWhiteSpace()
    if take(UInt8(ascii: "]")) { return }
    repeat {
      skipWhiteSpace()
      try skipValue(depth: depth)
      skipWhiteSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw .syntax }
  }

  private mutating func skip(_ literal: StaticString) throws(JSONFailure) {
    let end = position + literal.utf8CodeUnitCount
    guard end <= bytes.count, bytes.extracting(position..<end).equals(literal) else { throw .syntax }
    position = end
  }

  /// RFC 8259 section 6: no leading zero, no plus, no `NaN`, a digit on both sides of the point.
  private mutating func skipNumber() throws(JSONFailure) {
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try skipDigits() }
    if take(UInt8(ascii: ".")) { try skipDigits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try skipDigits()
    }
  }

  private mutating func skipDigits() throws(JSONFailure) {
    let start = position
    while let byte = peek(), ASCII.isDigit(byte) { position += 1 }
    guard position > start else { throw .syntax }
  }

  private mutating func skipWhiteSpace() {
    while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    position += 1
    return true
  }

  private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

  // MARK: Strings

  /// What stands between two quotes, checked but not yet decoded.
  private struct StringRange {
    var range: ByteRange
    var hasEscapes: Bool
  }

  private mutating func readString() throws(JSONFailure) -> StringRange {
    guard take(UInt8(ascii: "\"")) else { throw .syntax }
    let start = position
    var hasEscapes = false
    while let byte = peek() {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        return StringRange(range: ByteRange(from: start, to: position - 1), hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      case 0..<0x20: throw .syntax
      default: position += 1
      }
    }
    throw .syntax
  }

  private mutating func skipEscape() throws(JSONFailure) {
    guard position + 1 < bytes.count else { throw .syntax }
    let letter = bytes[position + 1]
    if letter != UInt8(ascii: "u") {
      guard Self.escaped(letter) != nil else { throw .syntax }
      position += 2
      return
    }
    guard let unit = codeUnit(at: position) else { throw .syntax }
    position += 6
    if Self.isHighSurrogate(unit) {
      guard let low = codeUnit(at: position), Self.isLowSurrogate(low) else { throw .loneSurrogate }
      position += 6
    } else if Self.isLowSurrogate(unit) {
      throw .loneSurrogate
    }
  }

  /// The UTF-16 code unit of the six bytes `\uXXXX` at `start`.
  private func codeUnit(at start: Int) -> UInt32? {
    guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else { return nil }
    var unit: UInt32 = 0
    for index in start + 2..<start + 6 {
      guard let digit = Hexadecimal.value(bytes[index]) else { return nil }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  private static func isHighSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xD800 }
  private static func isLowSurrogate(_ unit: UInt32) -> Bool { unit & 0xFC00 == 0xDC00 }

  /// The byte that a backslash and `letter` stand for.
  private static func escaped(_ letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }

  /// The string's UTF-8.
  private func decode(_ string: StringRange) -> [UInt8] {
    let raw = bytes.bytes(at: string.range)
    guard string.hasEscapes else { return [UInt8](copying: raw) }
    // No escape is shorter than what it stands for.
    return [UInt8](capacity: raw.count) { decoded in
      var index = string.range.start
      while index < string.range.end {
        if bytes[index] != UInt8(ascii: "\\") {
          decoded.append(bytes[index])
          index += 1
        } else if let byte = Self.escaped(bytes[index + 1]) {
          decoded.append(byte)
          index += 2
        } else {
          index += append(codePointAt: index, to: &decoded)
        }
      }
    }
  }

  /// Appends what `\uXXXX`, or a pair of them, stands for; how many bytes it took. ``skipEscape()`` checked it.
  private func append(codePointAt index: Int, to decoded: inout OutputSpan<UInt8>) -> Int {
    guard let unit = codeUnit(at: index) else { return 6 }
    if Self.isHighSurrogate(unit), let low = codeUnit(at: index + 6) {
      Self.append(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF, to: &decoded)
      return 12
    }
    Self.append(unit, to: &decoded)
    return 6
  }

  private static func append(_ codePoint: UInt32, to decoded: inout OutputSpan<UInt8>) {
    guard let scalar = Unicode.Scalar(codePoint) else { return }
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { decoded.append(byte) }
  }

  private func index(of name: StringRange, in names: [StaticString]) -> Int? {
    if name.hasEscapes {
      let decoded = decode(name)
      return names.firstIndex { decoded.span.equals($0) }
    }
    let raw = bytes.bytes(at: name.range)
    for index in names.indices where raw.equals(names[index]) { return index }
    return nil
  }
}
