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

  @Test(arguments: [("Zm9v", true), ("Zm9", false), ("Zm9vYg==", false), ("Zm9*", false), ("Z", false)])
  func decodingInPlaceTakesExactlySoManyBytes(text: String, isTaken: Bool) {
    var bytes = InlineArray<3, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    let taken = Base64.decode(Array(text.utf8).span, filling: &span)
    #expect(taken == isTaken)
    if isTaken { #expect(Array(copying: bytes.span) == Array("foo".utf8)) }
  }

  @Test func everyByteThatIsNoDigitIsRefusedWhereverItStands() {
    let digits = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)
    for byte in UInt8.min...UInt8.max where !digits.contains(byte) {
      for length in [2, 3, 4, 6, 7, 8] {
        for place in 0..<length {
          var text = [UInt8](repeating: UInt8(ascii: "A"), count: length)
          text[place] = byte
          // Padding in its place is no foreign character.
          if byte == UInt8(ascii: "="), length % 4 == 0, place == length - 1 { continue }
          #expect(Base64.decode(text.span, maximum: 8) == nil, "byte \(byte) at \(place) of \(length)")
        }
      }
    }
  }

  @Test func whatIsAppendedToAQueueIsWhatEncodingGives() {
    for count in 0..<100 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
      var queue = ByteQueue()
      queue.append(base64: bytes.span)
      queue.append(base64URL: bytes.span)
      #expect(queue.copied() == Array((Base64.encode(bytes.span) + Base64.encodeURL(bytes.span)).utf8))
    }
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
