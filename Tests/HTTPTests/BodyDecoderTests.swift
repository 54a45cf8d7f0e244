import Bytes
import HTTP
import Testing

/// One chunked body in view, with the rule that it is about.
struct BodyCase: CustomTestStringConvertible, Sendable {
  let text: String
  let content: String
  let fault: BodyFault?
  let rule: String

  init(_ text: String, _ content: String, _ rule: String) { (self.text, self.content, fault, self.rule) = (text, content, nil, rule) }
  init(_ text: String, _ fault: BodyFault, _ rule: String) { (self.text, content, self.fault, self.rule) = (text, "", fault, rule) }

  var testDescription: String { "\(rule): \(text.debugDescription.prefix(90))" }
}

let validBodies: [BodyCase] = [
  BodyCase("0\r\n\r\n", "", "RFC 9112 section 7.1"),
  BodyCase("5\r\nhello\r\n0\r\n\r\n", "hello", "RFC 9112 section 7.1"),
  BodyCase("A\r\n0123456789\r\na\r\nabcdefghij\r\n0\r\n\r\n", "0123456789abcdefghij", "RFC 9112 section 7.1: either case"),
  BodyCase("0000000000000005\r\nhello\r\n0000\r\n\r\n", "hello", "RFC 9112 section 7.1: leading zeros, at most 16 digits"),
  BodyCase("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", "RFC 9112 section 7.1: data may hold CRLF"),
  BodyCase("5;a\r\nhello\r\n0;b=\"c;\t\"\r\n\r\n", "hello", "RFC 9112 section 7.1.1"),
  BodyCase("5 ; a = b\r\nhello\r\n0\r\n\r\n", "hello", "RFC 9112 section 7.1.1: bad white space around the semicolon"),
  BodyCase("0\r\nA: b\r\nC:\t\r\n\r\n", "", "RFC 9112 section 7.1.2"),
  BodyCase("0\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\n", "", "RFC 9110 section 6.5.1: trailers frame nothing"),
]

let malformedBodies: [BodyCase] = [
  BodyCase("\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1: a size has digits"),
  BodyCase("g\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("-5\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("+5\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("0x5\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase(" 5\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("5 \r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1: a padded size"),
  BodyCase("5\t5\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("5_\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1"),
  BodyCase("5\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 2.2: bare LF"),
  BodyCase("5\r\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 2.2: bare CR"),
  BodyCase("5\rhello\r\n", .chunkSizeMalformed, "RFC 9112 section 2.2: bare CR"),
  BodyCase("00000000000000005\r\nhello\r\n", .chunkSizeMalformed, "more than 16 digits"),
  BodyCase("8000000000000000\r\n", .chunkSizeTooLarge, "RFC 9112 section 7.1: overflow"),
  BodyCase("FFFFFFFFFFFFFFFF\r\n", .chunkSizeTooLarge, "RFC 9112 section 7.1: overflow"),
  BodyCase("5;a\nhello\r\n", .chunkExtensionMalformed, "RFC 9112 section 7.1.1: bare LF"),
  BodyCase("5;a\0\r\nhello\r\n", .chunkExtensionMalformed, "RFC 9112 section 7.1.1: NUL"),
  BodyCase("5;a\rb\r\nhello\r\n", .chunkSizeMalformed, "RFC 9112 section 7.1.1: bare CR"),
  BodyCase("5;\(String(repeating: "a", count: 256))\r\nhello\r\n", .chunkExtensionsTooLong, "256 bytes a chunk"),
  BodyCase(
    String(repeating: "1;\(String(repeating: "a", count: 255))\r\nx\r\n", count: 16) + "1;a\r\n", .chunkExtensionsTooLong,
    "4 KiB a message"),
  BodyCase("5\r\nhelloX0\r\n\r\n", .chunkNotTerminated, "RFC 9112 section 7.1"),
  BodyCase("5\r\nhello!\r\n0\r\n\r\n", .chunkNotTerminated, "RFC 9112 section 7.1: longer than it says"),
  BodyCase("5\r\nhello\n0\r\n\r\n", .chunkNotTerminated, "RFC 9112 section 2.2: bare LF"),
  BodyCase("5\r\nhello\r0\r\n\r\n", .chunkNotTerminated, "RFC 9112 section 2.2: bare CR"),
  BodyCase("0\r\n\n", .trailerMalformed, "RFC 9112 section 2.2: bare LF"),
  BodyCase("0\r\n\rX", .trailerMalformed, "RFC 9112 section 2.2: bare CR"),
  BodyCase("0\r\n A: b\r\n\r\n", .trailerMalformed, "RFC 9112 section 5.2: folded"),
  BodyCase("0\r\nA : b\r\n\r\n", .trailerMalformed, "RFC 9112 section 5.1: space before the colon"),
  BodyCase("0\r\nA\r\n\r\n", .trailerMalformed, "RFC 9112 section 5: no colon"),
  BodyCase("0\r\n: b\r\n\r\n", .trailerMalformed, "RFC 9110 section 5.1: no name"),
  BodyCase("0\r\nA: b\nC: d\r\n\r\n", .trailerMalformed, "RFC 9112 section 2.2: bare LF"),
  BodyCase("0\r\nA: b\rC: d\r\n\r\n", .trailerMalformed, "RFC 9112 section 2.2: bare CR"),
  BodyCase("0\r\nA: \0\r\n\r\n", .trailerMalformed, "RFC 9110 section 5.5: NUL"),
  BodyCase("0\r\n" + String(repeating: "A: b\r\n", count: 101) + "\r\n", .trailersTooLarge, "100 fields"),
  BodyCase("0\r\nA: \(String(repeating: "b", count: 33_000))\r\n\r\n", .trailersTooLarge, "32 KiB"),
]

@Suite struct BodyDecoderTests {
  @Test(arguments: validBodies)
  func aChunkedBodyIsDecodedToItsEndAndNoFurther(body: BodyCase) {
    let next = "GET / HTTP/1.1"
    let decoded = decode(.chunked, pieces: [Array((body.text + next).utf8)])
    #expect(decoded.end == .end(consumed: 0))
    #expect(String(decoding: decoded.content, as: UTF8.self) == body.content)
    #expect(decoded.consumed == body.text.utf8.count)
  }

  @Test(arguments: malformedBodies)
  func aChunkedBodyThatCouldBeReadInTwoWaysIsRefused(body: BodyCase) {
    #expect(body.fault.map { BodyEvent.malformed($0) } == decode(.chunked, pieces: [Array(body.text.utf8)]).end)
  }

  @Test func extensionsUpToTheirBoundsAreTaken() {
    let chunk = "1;\(String(repeating: "a", count: 255))\r\nx\r\n"
    let decoded = decode(.chunked, pieces: [Array((String(repeating: chunk, count: 16) + "0\r\n\r\n").utf8)])
    #expect(decoded.end == .end(consumed: 0))
    #expect(decoded.content.count == 16)
  }

  @Test func aBodyOfKnownLengthEndsThere() {
    let decoded = decode(.length(5), pieces: [Array("he".utf8), Array("llo!!".utf8)])
    #expect(decoded == DecodedBody(content: Array("hello".utf8), end: .end(consumed: 0), consumed: 5))
    #expect(decode(.length(0), pieces: [[1]]).end == .end(consumed: 0))
    #expect(decode(.none, pieces: [[1]]).end == .end(consumed: 0))
    #expect(decode(.length(5), pieces: [[1]]).end == .needMore(consumed: 0))
  }

  @Test func aBodyUntilCloseIsWhateverComes() {
    let decoded = decode(.untilClose, pieces: [Array("a".utf8), [], Array("bc".utf8)])
    #expect(decoded == DecodedBody(content: Array("abc".utf8), end: .needMore(consumed: 0), consumed: 3))
  }

  @Test(arguments: [
    (BodyFraming.length(3), "ab", BodyEvent.malformed(.cutShort)), (.length(2), "ab", .end(consumed: 0)),
    (.chunked, "2\r\nab\r\n", .malformed(.cutShort)), (.chunked, "0\r\n", .malformed(.cutShort)),
    (.chunked, "0\r\n\r\n", .end(consumed: 0)),
    (.untilClose, "ab", .end(consumed: 0)), (.none, "", .end(consumed: 0)),
  ])
  func theEndOfTheInputEndsOnlyABodyThatIsWhole(framing: BodyFraming, text: String, event: BodyEvent) {
    var decoder = BodyDecoder(framing)
    let bytes = Array(text.utf8)
    var position = 0
    while position < bytes.count, case .data(_, let consumed) = decoder.next(in: bytes.span.extracting(position..<bytes.count)) {
      position += consumed
    }
    #expect(decoder.atEndOfInput() == event)
  }

  @Test func theEndIsKnownWithTheLastByteOfALength() {
    var decoder = BodyDecoder(.length(2))
    #expect(decoder.hasEnded == false)
    #expect(decoder.next(in: [1, 2, 3].span) == .data(ByteRange(start: 0, count: 2), consumed: 2))
    #expect(decoder.hasEnded == true)
  }

  @Test func whatIsEncodedInChunksDecodesToTheSame() {
    var output = ByteQueue()
    var content = [UInt8]()
    for count in [1, 0, 15, 16, 255, 4096] {
      let piece = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
      content += piece
      ChunkedEncoder.append(piece.span, to: &output)
    }
    ChunkedEncoder.appendEnd(to: &output)
    let decoded = decode(.chunked, pieces: [output.copied()])
    #expect(decoded == DecodedBody(content: content, end: .end(consumed: 0), consumed: output.count))
  }
}
