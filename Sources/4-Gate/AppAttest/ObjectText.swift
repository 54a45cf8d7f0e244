import Bytes

/// An attestation or assertion as a person has it at hand: the binary itself, or its text copied from a log, a header or a request body.
///
/// For `inspect` alone. The gate takes exact base64 and nothing else; here line breaks are let be, and what is wrong is told with its mend.
public enum ObjectText {
  /// Why no object could be made of the bytes.
  public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and what to do about it.
    public let description: String

    init(_ description: String) { self.description = description }
  }

  /// The object's bytes: `input` itself when it is binary, else what its base64 or hexadecimal text stands for.
  public static func object(in input: [UInt8]) throws(Failure) -> [UInt8] {
    guard let first = input.first else { throw Failure("it is empty") }
    if isMap(first) { return input }
    let trimmed = trim(input)
    guard !trimmed.isEmpty else { throw Failure("it holds white space only") }
    let text = trimmed.filter { !isLineBreak($0) }
    if let object = Hexadecimal.decode(text.span), let first = object.first, isMap(first) { return object }
    guard let object = Base64.decode(text.span, maximum: text.count) else { throw Failure(problem(with: trimmed)) }
    if let first = object.first, !isMap(first), let inner = Base64.decode(object.span, maximum: object.count),
      inner.first.map(isMap) == true
    {
      throw Failure("it is encoded in base64 twice: decode it once, and have the app encode it once only")
    }
    return object
  }

  /// Both objects are CBOR maps, which begin with a byte that no text begins with.
  private static func isMap(_ byte: UInt8) -> Bool { byte >> 5 == 5 }

  private static func isLineBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

  private static func trim(_ input: [UInt8]) -> [UInt8] {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || isLineBreak(byte) }
    // A byte order mark is an editor's, not the app's.
    let text = input.starts(with: [0xEF, 0xBB, 0xBF]) ? input[3...] : input[...]
    guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) }) else { return [] }
    return Array(text[first...last])
  }

  /// What is wrong with text that is not base64; it is not empty.
  private static func problem(with text: [UInt8]) -> String {
    if text[0] == UInt8(ascii: "{") { return "it is JSON: give the text of its member with the object, without the quotes" }
    if text.starts(with: "-----BEGIN".utf8) { return "it is PEM: remove the lines with BEGIN and END" }
    if text[0] == UInt8(ascii: "\"") || text[0] == UInt8(ascii: "'") { return "it is in quotes: remove them" }
    for (index, byte) in text.enumerated() {
      switch byte {
      case UInt8(ascii: "%"): return "it is percent-encoded (character \(index + 1)): undo that, %2B is +, %2F is /, %3D is ="
      case 0x20: return "it has a space at character \(index + 1): a + that form decoding turned into a space? put the + back"
      case UInt8(ascii: "\\"): return "it has a backslash at character \(index + 1): undo the escapes of JSON, \\/ is /"
      case _ where isBase64(byte) || isLineBreak(byte): continue
      case 0x21...0x7E:
        return
          "character \(index + 1) is \(Character(UnicodeScalar(byte))), which base64 does not have: give the object as base64 or as binary"
      default: return "byte \(index + 1) is neither base64 nor the begin of a CBOR map: give the object as base64 or as binary"
      }
    }
    return "it is not whole base64: it was cut off, its padding is wrong, or it mixes +/ with -_"
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="): true
    default: false
    }
  }
}
