import Bytes

/// What the `Cache-Control` fields of an answer say about caches that several people share (RFC 9111 section 5.2.2).
struct CacheDirectives {
  private(set) var isPrivate = false
  private(set) var isNotStored = false
  /// `public`, `s-maxage`, or `private` for some fields only: a shared cache may keep the answer.
  private(set) var isShared = false
  private(set) var isMalformed = false

  /// Whether no shared cache will keep the answer, as it stands.
  var keepsFromSharedCaches: Bool { (isPrivate || isNotStored) && !isShared && !isMalformed }

  /// Takes one field's value.
  mutating func take(_ value: ByteRange, in bytes: Span<UInt8>) {
    var elements = ListElements(value)
    while let element = elements.next(in: bytes) {
      let directive = bytes.bytes(at: element)
      if directive.equalsIgnoringCase("private") {
        isPrivate = true
      } else if directive.equalsIgnoringCase("no-store") {
        isNotStored = true
      } else if Self.contradictsPrivate(directive) {
        isShared = true
      } else if !directive.isEmpty, !Self.beginsWithToken(directive) {
        isMalformed = true
      }
    }
    if elements.isMalformed { isMalformed = true }
  }

  /// Appends one `Cache-Control` field: the directives of `fields` that do not contradict `private`, and `private`;
  /// for a value that cannot be read, `no-store` alone.
  func appendPrivate(fields: [Field], of bytes: Span<UInt8>, to output: inout ByteQueue) {
    output.append("Cache-Control: ")
    if isMalformed {
      output.append("no-store\r\n")
      return
    }
    for field in fields where field.name == .cacheControl && field.flags.isDisjoint(with: .notPassedOn) {
      var elements = ListElements(field.valueRange)
      while let element = elements.next(in: bytes) {
        let directive = bytes.bytes(at: element)
        if directive.isEmpty || directive.equalsIgnoringCase("private") || Self.contradictsPrivate(directive) { continue }
        output.append(directive)
        output.append(", ")
      }
    }
    output.append("private\r\n")
  }

  /// `public`, `s-maxage=…` and `private="…"`.
  private static func contradictsPrivate(_ directive: Span<UInt8>) -> Bool {
    let name = directive.extracting(first: tokenCount(directive))
    return name.equalsIgnoringCase("public") || name.equalsIgnoringCase("s-maxage")
      || name.equalsIgnoringCase("private") && name.count < directive.count
  }

  private static func beginsWithToken(_ directive: Span<UInt8>) -> Bool {
    let count = tokenCount(directive)
    return count > 0 && (count == directive.count || directive[count] == UInt8(ascii: "="))
  }

  private static func tokenCount(_ directive: Span<UInt8>) -> Int {
    var count = 0
    while count < directive.count, Token.contains(directive[count]) { count += 1 }
    return count
  }
}
