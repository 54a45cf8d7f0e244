import Bytes
import Testing

@testable import Cryptography

@Suite struct DigestTests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func examplesOfTheStandard(message: String, digest: String) {
    let bytes = Array(message.utf8)
    #expect(Hexadecimal.encode(SHA256.digest(bytes.span).bytes.span) == digest)
  }

  @Test func partsGiveTheDigestOfTheWhole() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    var hash = SHA256()
    var start = 0
    while start < bytes.count {
      let end = min(start + 1 + start / 3, bytes.count)
      hash.update(bytes.span.extracting(start..<end))
      start = end
    }
    let whole = SHA256.digest(bytes.span)
    #expect(hash.finalize() == whole)
    #expect(SHA256.digest(bytes.span.extracting(first: 10), bytes.span.extracting(droppingFirst: 10)) == whole)
  }

  /// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
  @Test(arguments: [
    ([UInt8](repeating: 0x0B, count: 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (Array("Jefe".utf8), "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    (
      [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func codesOfTheStandard(key: [UInt8], message: String, code: String) {
    let bytes = Array(message.utf8)
    #expect(Hexadecimal.encode(HMACSHA256.code(key: key.span, message: bytes.span).bytes.span) == code)
  }

  @Test func randomBytesDiffer() {
    #expect(SecureRandom.bytes(0).isEmpty)
    #expect(SecureRandom.bytes(32).count == 32)
    #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
  }
}
