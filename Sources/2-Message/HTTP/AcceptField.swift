import Bytes

extension RequestHead {
  /// Whether the client asks for JSON rather than plain text (RFC 9110 section 12.5.1): `Accept` names `application/json` itself, with a
  /// weight above 0 and not below that of `text/plain`. A wildcard asks for nothing in particular.
  public var acceptsJSONRatherThanText: Bool {
    parser.table.bytes.withReadable { bytes in
      var json = 0
      var text = 0
      for field in parser.table.fields where field.name == .accept && !field.flags.contains(.dropped) {
        var elements = ListElements(field.valueRange)
        while let element = elements.next(in: bytes) {
          let range = bytes.bytes(at: element)
          let type = range.extracting(first: Self.mediaTypeCount(range))
          if type.equalsIgnoringCase("application/json") { json = max(json, Self.weight(range)) }
          if type.equalsIgnoringCase("text/plain") { text = max(text, Self.weight(range)) }
        }
        if elements.isMalformed { return false }
      }
      return json > 0 && json >= text
    }
  }

  private static func mediaTypeCount(_ range: Span<UInt8>) -> Int {
    var count = 0
    while count < range.count, range[count] != UInt8(ascii: ";"), !Token.isSpace(range[count]) { count += 1 }
    return count
  }

  /// The weight `q` in thousandths, 1000 when there is none, 0 when it is malformed (RFC 9110 section 12.4.2).
  private static func weight(_ range: Span<UInt8>) -> Int {
    var index = mediaTypeCount(range)
    while index < range.count {
      while index < range.count, range[index] == UInt8(ascii: ";") || Token.isSpace(range[index]) { index += 1 }
      let start = index
      while index < range.count, range[index] != UInt8(ascii: ";"), !Token.isSpace(range[index]) { index += 1 }
      let parameter = range.extracting(start..<index)
      if parameter.count >= 2, parameter.extracting(first: 2).equalsIgnoringCase("q=") {
        return quality(parameter.extracting(2..<parameter.count))
      }
    }
    return 1000
  }

  private static func quality(_ text: Span<UInt8>) -> Int {
    guard !text.isEmpty, text.count <= 5, text[0] == UInt8(ascii: "0") || text[0] == UInt8(ascii: "1") else { return 0 }
    guard text.count == 1 || text[1] == UInt8(ascii: ".") else { return 0 }
    var thousandths = Int(text[0] - UInt8(ascii: "0")) * 1000
    var unit = 100
    for index in 2..<max(text.count, 2) {
      guard ASCII.isDigit(text[index]) else { return 0 }
      thousandths += Int(text[index] - UInt8(ascii: "0")) * unit
      unit /= 10
    }
    return thousandths <= 1000 ? thousandths : 0
  }
}
