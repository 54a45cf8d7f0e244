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

/// Reads one JSON object (RFC 8259) strictly and says where the string values of the members are that were asked for.
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
  static func members<let count: Int>(
    _ names: InlineArray<count, StaticString>, of text: Span<UInt8>
  ) throws(JSONFailure) -> InlineArray<count, JSONString?> {
    guard (try? UTF8Span(validating: text)) != nil else { throw .notUTF8 }
    var reader = JSONObjectReader(text)
    var values = InlineArray<count, JSONString?>(repeating: nil)
    var found = values.mutableSpan
    reader.skipWhiteSpace()
    guard reader.take(UInt8(ascii: "{")) else { throw .notAnObject }
    try reader.readMembers(depth: 1, names.span, into: &found)
    reader.skipWhiteSpace()
    guard reader.position == text.count else { throw .trailingBytes }
    return values
  }

  // MARK: Values

  /// Reads up to the closing brace; the opening one was taken.
  private mutating func readMembers(
    depth: Int, _ names: Span<StaticString>, into values: inout MutableSpan<JSONString?>
  ) throws(JSONFailure) {
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
        values[index] = try readString()
      } else {
        guard others.insert(name.decoded(in: bytes)).inserted else { throw .repeatedMember }
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
      var none = MutableSpan<JSONString?>()
      try readMembers(depth: depth + 1, Span(), into: &none)
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

  private mutating func readString() throws(JSONFailure) -> JSONString {
    guard take(UInt8(ascii: "\"")) else { throw .syntax }
    let start = position
    var hasEscapes = false
    while true {
      position = bytes.endOfPlainJSON(from: position)
      switch peek() {
      case UInt8(ascii: "\""):
        position += 1
        return JSONString(range: ByteRange(from: start, to: position - 1), hasEscapes: hasEscapes)
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      default: throw .syntax
      }
    }
  }

  private mutating func skipEscape() throws(JSONFailure) {
    guard position + 1 < bytes.count else { throw .syntax }
    let letter = bytes[position + 1]
    if letter != UInt8(ascii: "u") {
      guard JSONEscape.byte(letter) != nil else { throw .syntax }
      position += 2
      return
    }
    guard let unit = JSONEscape.codeUnit(at: position, of: bytes) else { throw .syntax }
    position += 6
    if JSONEscape.isHighSurrogate(unit) {
      guard let low = JSONEscape.codeUnit(at: position, of: bytes), JSONEscape.isLowSurrogate(low) else { throw .loneSurrogate }
      position += 6
    } else if JSONEscape.isLowSurrogate(unit) {
      throw .loneSurrogate
    }
  }

  private func index(of name: JSONString, in names: Span<StaticString>) -> Int? {
    if name.hasEscapes {
      let decoded = name.decoded(in: bytes)
      for index in names.indices where decoded.span.equals(names[index]) { return index }
      return nil
    }
    let raw = bytes.bytes(at: name.range)
    for index in names.indices where raw.equals(names[index]) { return index }
    return nil
  }
}
