import AppAttest
import Bytes
import Cryptography

/// Writes commands (RESP2: an array of bulk strings) straight into the bytes that go out: nothing is allocated for one.
extension ByteQueue {
  /// The beginning of a command of `count` words.
  mutating func append(commandOf count: Int) {
    append(UInt8(ascii: "*"))
    append(decimal: count)
    append("\r\n")
  }

  /// The beginning of a word of `count` bytes, which must follow; then ``endWord()``.
  mutating func append(wordOf count: Int) {
    append(UInt8(ascii: "$"))
    append(decimal: count)
    append("\r\n")
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
    var digits = number < 0 ? 2 : 1
    var rest = number.magnitude
    while rest >= 10 {
      rest /= 10
      digits += 1
    }
    append(wordOf: digits)
    append(decimal: number)
    endWord()
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
    append("}")
    endWord()
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
