import AppAttest
import Bytes
import Cryptography
import Testing

@testable import Store

@Suite struct RedisCommandWriterTests {
  private func text(_ write: (inout ByteQueue) -> Void) -> String {
    var output = ByteQueue()
    write(&output)
    return String(decoding: output.copied(), as: UTF8.self)
  }

  @Test func aCommandIsAnArrayOfBulkStrings() {
    let command = text { output in
      output.append(commandOf: 4)
      output.append(word: "SET")
      output.append(word: "ü\r\n" as String)
      output.append(word: [] as [UInt8])
      output.append(word: Array("x".utf8))
    }
    #expect(command == "*4\r\n$3\r\nSET\r\n$4\r\nü\r\n\r\n$0\r\n\r\n$1\r\nx\r\n")
  }

  @Test(arguments: [
    (0, "0"), (9, "9"), (10, "10"), (-1, "-1"), (-10, "-10"), (.max, "9223372036854775807"), (.min, "-9223372036854775808"),
  ])
  func aNumberIsAWordOfItsDigits(number: Int, digits: String) {
    #expect(text { $0.append(word: number) } == "$\(digits.utf8.count)\r\n\(digits)\r\n")
  }

  @Test func keysNameTheIdentifierAndTheMarkInBase64URL() throws {
    for seed: UInt8 in 0..<50 {
      let digest = SHA256Digest.of("\(seed)")
      let bytes = digest.bytes
      let identifier = Base64.encodeURL(bytes.span)
      let half = Array(digest.bytes[..<16])
      let mark = Base64.encodeURL(half.span)
      let key = "p:key:{\(identifier)}"
      #expect(text { $0.append(keyOf: KeyIdentifier(digest), prefix: Array("p:".utf8)) } == "$\(key.utf8.count)\r\n\(key)\r\n")
      #expect(text { $0.append(markOf: digest, prefix: Array("p:".utf8)) } == "$29\r\np:used:\(mark)\r\n")
      let named = RedisRecord.identifier(inKey: Array(key.utf8), prefix: Array("p:".utf8))
      #expect(named == KeyIdentifier(digest))
    }
  }

  @Test(arguments: ["p:key:{}", "p:key:{AAAA}", "q:key:{47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU}", "p:used:x", ""])
  func otherKeysNameNoIdentifier(key: String) {
    #expect(RedisRecord.identifier(inKey: Array(key.utf8), prefix: Array("p:".utf8)) == nil)
  }

  @Test func thePrefixStandsForItselfInAPattern() {
    #expect(RedisRecord.pattern(prefix: Array("a*b?[c]\\^:".utf8)) == Array("a\\*b\\?\\[c\\]\\\\\\^:key:{*}".utf8))
  }
}
