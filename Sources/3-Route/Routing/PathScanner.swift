import Bytes

/// One pass over a target's path: judges every character in its decoded meaning and writes the normal form, beginning only where the
/// path deviates from it.
struct PathScanner: ~Copyable {
  /// What the path has that an upstream might read in another way.
  private(set) var features: PathFeatures = []
  /// Whether the normal form holds an escape.
  private(set) var hasEscapes = false
  /// Offset of the `?` or of the target's end.
  private(set) var end = 0
  /// Whether the path came in normal form; ``output`` is empty then.
  private(set) var isVerbatim = true
  /// The normal form.
  private(set) var output: [UInt8] = []

  private var segments = SegmentCheck()
  private var characters = UTF8Check()

  init() {}

  /// Scans up to the query; nil when the path has one meaning.
  mutating func scan(_ target: Span<UInt8>) -> PathAmbiguity? {
    guard target.count > 0, target[0] == UInt8(ascii: "/") else { return .notAbsolute }
    var index = 1
    while index < target.count {
      let byte = target[index]
      if byte == UInt8(ascii: "?") { break }
      let ambiguity = byte == UInt8(ascii: "%") ? escape(target, &index) : raw(byte, target, &index)
      if let ambiguity { return ambiguity }
    }
    end = index
    guard characters.isComplete else { return .invalidUTF8 }
    if let ambiguity = segments.end() { return ambiguity }
    if !features.contains(.encodedPercent) { return nil }
    let normalForm = isVerbatim ? Array(copying: target.extracting(0..<end)) : output
    return deeper(normalForm.span)
  }

  /// A character that stands for itself.
  private mutating func raw(_ byte: UInt8, _ target: Span<UInt8>, _ index: inout Int) -> PathAmbiguity? {
    if byte == UInt8(ascii: "#") { return .fragment }
    if byte == UInt8(ascii: "\\") { return .backslash }
    if byte <= 0x20 { return .control }
    if let ambiguity = meaning(byte) { return ambiguity }
    if byte == UInt8(ascii: "/") {
      if let ambiguity = segments.separator() { return ambiguity }
    } else {
      if byte == UInt8(ascii: ";") { features.insert(.semicolon) }
      if let ambiguity = segments.character(byte) { return ambiguity }
    }
    if PathCharacter.isPlain(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ";") {
      if !isVerbatim { output.append(byte) }
    } else {
      deviate(target, at: index)
      append(escaped: byte)
    }
    index += 1
    return nil
  }

  /// `%` and what should be two digits.
  private mutating func escape(_ target: Span<UInt8>, _ index: inout Int) -> PathAmbiguity? {
    guard index + 2 < target.count, let high = Hexadecimal.value(target[index + 1]), let low = Hexadecimal.value(target[index + 2]) else {
      return .invalidEscape
    }
    let byte = high << 4 | low
    if let ambiguity = meaning(byte) { return ambiguity }
    features.formUnion(.ofEscaped(byte))
    // What decodes to a separator is one to somebody: `..%2f` climbs.
    let isSeparator = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    if let ambiguity = isSeparator ? segments.separator() : segments.character(byte) { return ambiguity }
    if PathCharacter.isUnreserved(byte) {
      deviate(target, at: index)
      output.append(byte)
    } else {
      let isUpperCase = !isLowerCaseLetter(target[index + 1]) && !isLowerCaseLetter(target[index + 2])
      if !isUpperCase { deviate(target, at: index) }
      hasEscapes = true
      if !isVerbatim { append(escaped: byte) }
    }
    index += 3
    return nil
  }

  /// What is wrong with a character in any coding.
  private mutating func meaning(_ byte: UInt8) -> PathAmbiguity? {
    if byte < 0x80 {
      if !characters.isComplete { return .invalidUTF8 }
      return byte < 0x20 || byte == 0x7F ? .control : nil
    }
    switch characters.next(byte) {
    case .valid: return nil
    case .invalid: return .invalidUTF8
    case .control: return .control
    }
  }

  /// From here on the normal form differs from the raw one: copies what was equal.
  private mutating func deviate(_ target: Span<UInt8>, at index: Int) {
    guard isVerbatim else { return }
    isVerbatim = false
    output.reserveCapacity(target.count + 16)
    for earlier in 0..<index { output.append(target[earlier]) }
  }

  private mutating func append(escaped byte: UInt8) {
    hasEscapes = true
    output.append(UInt8(ascii: "%"))
    output.append(Hexadecimal.upperCaseDigit(byte >> 4))
    output.append(Hexadecimal.upperCaseDigit(byte & 15))
  }

  private func isLowerCaseLetter(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") }

  /// Judges a path with `%25` as an upstream sees it that decodes twice or more: what is ambiguous there is ambiguous,
  /// and what is a feature there is one here.
  private mutating func deeper(_ path: Span<UInt8>) -> PathAmbiguity? {
    var layer = RequestPath.decodedOnce(path)
    for _ in 0..<Self.layersMax {
      let next = RequestPath.decodedOnce(layer.span)
      if next.count == layer.count { return nil }
      features.formUnion(RequestPath.escapedFeatures(layer.span))
      if let ambiguity = Self.judge(layer: next.span) { return ambiguity }
      layer = next
    }
    return .nestedEscapes
  }

  /// A layer is an escape of escapes; each costs a pass.
  static let layersMax = 4

  private static func judge(layer: Span<UInt8>) -> PathAmbiguity? {
    var segments = SegmentCheck()
    var characters = UTF8Check()
    for index in 1..<layer.count {
      let byte = layer[index]
      if byte >= 0x80 {
        if characters.next(byte) != .valid { return .invalidUTF8 }
      } else if !characters.isComplete {
        return .invalidUTF8
      } else if byte < 0x20 || byte == 0x7F {
        return .control
      }
      let isSeparator = byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
      if let ambiguity = isSeparator ? segments.separator() : segments.character(byte) { return ambiguity }
    }
    return characters.isComplete ? segments.end() : .invalidUTF8
  }
}

extension RequestPath {
  /// Every valid escape decoded, once; the bytes keep their count exactly when there was none.
  static func decodedOnce(_ bytes: Span<UInt8>) -> [UInt8] {
    var decoded = [UInt8]()
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count { decoded.append(nextDecoded(bytes, &index)) }
    return decoded
  }

  /// The features that valid escapes in `bytes` stand for.
  static func escapedFeatures(_ bytes: Span<UInt8>) -> PathFeatures {
    var features: PathFeatures = []
    var index = 0
    while index < bytes.count {
      let start = index
      let byte = nextDecoded(bytes, &index)
      if index - start == 3 { features.formUnion(.ofEscaped(byte)) }
    }
    return features
  }
}
