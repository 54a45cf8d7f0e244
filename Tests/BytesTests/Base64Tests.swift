import Bytes
import Testing

@Suite struct Base64Tests {
  @Test(arguments: [
    ("", ""), ("Zg==", "f"), ("Zg", "f"), ("Zm8=", "fo"), ("Zm8", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"),
  ])
  func validTextDecodes(text: String, value: String) {
    #expect(Base64.decode(text, maximum: 100) == Array(value.utf8))
  }

  @Test(arguments: [
    "Z", "Zg=", "Zg===", "Zm8==", "Zm9v=", "Zh==", "Zm9=", " Zg==", "Zg==\n", "Zm 8", "Zm9v*", "=", "====", "Zg==Zg==", "+_AA", "é",
  ])
  func textThatIsNotExactlyBase64IsRefused(text: String) {
    #expect(Base64.decode(text, maximum: 100) == nil)
  }

  @Test func bothAlphabetsDecodeAlikeAndAreNotMixed() {
    #expect(Base64.decode("+/+/", maximum: 3) == [0xFB, 0xFF, 0xBF])
    #expect(Base64.decode("-_-_", maximum: 3) == [0xFB, 0xFF, 0xBF])
    #expect(Base64.decode("+_-/", maximum: 3) == nil)
  }

  @Test func aValueAboveTheMaximumIsRefused() {
    #expect(Base64.decode("Zm9v", maximum: 2) == nil)
    #expect(Base64.decode("Zm9v", maximum: 3) != nil)
  }

  @Test func encodingAndDecodingAreInverse() {
    for count in 0..<200 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
      #expect(Base64.decode(Base64.encode(bytes.span), maximum: 200) == bytes)
      #expect(Base64.decode(Base64.encodeURL(bytes.span), maximum: 200) == bytes)
    }
  }
}

@Suite struct ComparisonTests {
  @Test(arguments: [([1, 2, 3], true), ([1, 2, 4], false), ([1, 2], false)] as [([UInt8], Bool)])
  func equalityInConstantTimeIsEquality(other: [UInt8], expected: Bool) {
    let bytes: [UInt8] = [1, 2, 3]
    let equal = constantTimeEqual(bytes.span, other.span)
    #expect(equal == expected)
  }

  @Test(arguments: [("Content-LENGTH", "content-length", true), ("content_length", "content-length", false), ("[", "{", false)])
  func onlyASCIILettersAreCaseInsensitive(text: String, lowerCase: String, expected: Bool) {
    let equal = Array(text.utf8).span.equalsIgnoringCase(Array(lowerCase.utf8).span)
    #expect(equal == expected)
  }
}
