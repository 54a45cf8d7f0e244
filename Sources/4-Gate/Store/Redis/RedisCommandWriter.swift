import AppAttest
import Bytes
import Cryptography

/// Writes commands (RESP2: an array of bulk strings) straight into the bytes that go out: nothing is allocated for one.
extension ByteQueue {
  /// The beginning of a command of `count` words.
  mutating func append(commandOf count: Int) { append(lineOf: count, after: UInt8(ascii: "*")) }

  /// The beginning of a word of `count` bytes, which must follow; then ``endWord()``.
  mutating func append(wordOf count: Int) { append(lineOf: count, after: UInt8(ascii: "$")) }

  private mutating func append(lineOf number: Int, after mark: UInt8) {
    var line = ShortText()
    line.prependLineEnd()
    line.prepend(decimal: number)
    line.prepend(mark)
    append(line.span)
  }

  /// The end of a word.
  mutating func endWord() { append("\r\n") }

  /// A word of literal text.
  mutating func append(word text: StaticString) {
    append(wordOf: text.utf8CodeUnitCount)
    append(text)
    endWord()
  }

  /// A word of text.
  mutating func append(word text: String) {
    append(wordOf: text.utf8.count)
    append(text)
    endWord()
  }

  /// A word of bytes.
  mutating func append(word bytes: [UInt8]) {
    append(wordOf: bytes.count)
    append(bytes)
    endWord()
  }

  /// A number as a word.
  mutating func append(word number: Int) {
    var word = ShortText()
    word.prependLineEnd()
    let end = word.count
    word.prepend(decimal: number)
    let digits = word.count - end
    word.prependLineEnd()
    word.prepend(decimal: digits)
    word.prepend(UInt8(ascii: "$"))
    append(word.span)
  }

  /// The first `count` bytes of a digest as a word.
  mutating func append(word digest: SHA256Digest, first count: Int = SHA256Digest.byteCount) {
    append(wordOf: count)
    append(digest.span.extracting(first: count))
    endWord()
  }

  /// The key of an enrolled key's record: `<prefix>key:{<identifier>}`.
  mutating func append(keyOf identifier: KeyIdentifier, prefix: [UInt8]) {
    append(wordOf: prefix.count + 5 + 43 + 1)
    append(prefix)
    append("key:{")
    append(base64URL: identifier.digest.span)
    append("}\r\n")
  }

  /// The key of a challenge's mark: `<prefix>used:<first 16 bytes of its digest>`.
  mutating func append(markOf challenge: SHA256Digest, prefix: [UInt8]) {
    append(wordOf: prefix.count + 5 + 22)
    append(prefix)
    append("used:")
    append(base64URL: challenge.span.extracting(first: 16))
    endWord()
  }

  /// The key of a bucket: `<prefix>rate:{<identifier>}:<first 9 bytes of the scope>`.
  mutating func append(bucketOf identifier: KeyIdentifier, scope: SHA256Digest, prefix: [UInt8]) {
    append(wordOf: prefix.count + 6 + 43 + 2 + 12)
    append(prefix)
    append("rate:{")
    append(base64URL: identifier.digest.span)
    append("}:")
    append(base64URL: scope.span.extracting(first: 9))
    endWord()
  }
}

/// A few bytes, written from the last to the first, as digits come: so that a line with a number is appended at once.
private struct ShortText {
  /// Two numbers of up to 20 characters, two line ends and a mark.
  private var bytes = InlineArray<48, UInt8>(repeating: 0)
  private var start = 48

  var count: Int { 48 - start }

  var span: Span<UInt8> {
    @_lifetime(borrow self)
    get { bytes.span.extracting(start..<48) }
  }

  mutating func prepend(_ byte: UInt8) {
    start -= 1
    bytes[start] = byte
  }

  mutating func prependLineEnd() {
    prepend(0x0A)
    prepend(0x0D)
  }

  mutating func prepend(decimal number: Int) {
    var rest = number.magnitude
    repeat {
      prepend(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
      rest /= 10
    } while rest > 0
    if number < 0 { prepend(UInt8(ascii: "-")) }
  }
}
