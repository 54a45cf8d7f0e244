import Bytes
import HTTP
import Testing

/// One answer's head in view, with the rule that it is about.
struct ResponseCase: CustomTestStringConvertible, Sendable {
  let text: String
  let method: RequestMethod
  let framing: BodyFraming?
  let refusal: HeadRefusal?
  let rule: String

  /// One that is taken, with the framing that follows.
  init(_ text: String, to method: RequestMethod = .get, _ framing: BodyFraming, _ rule: String) {
    (self.text, self.method, self.framing, refusal, self.rule) = (text, method, framing, nil, rule)
  }

  /// One that is refused.
  init(_ text: String, to method: RequestMethod = .get, _ refusal: HeadRefusal, _ rule: String) {
    (self.text, self.method, framing, self.refusal, self.rule) = (text, method, nil, refusal, rule)
  }

  var testDescription: String { "\(rule): \(text.debugDescription.prefix(90))" }
}

private func ok(_ lines: String) -> String { "HTTP/1.1 200 OK\r\n\(lines)\r\n" }

let validResponses: [ResponseCase] = [
  ResponseCase(ok("Content-Length: 5\r\n"), .length(5), "RFC 9112 section 6.3, rule 6"),
  ResponseCase(ok("Transfer-Encoding: chunked\r\n"), .chunked, "RFC 9112 section 6.3, rule 4"),
  ResponseCase(ok(""), .untilClose, "RFC 9112 section 6.3, rule 8"),
  ResponseCase("HTTP/1.0 200 OK\r\n\r\n", .untilClose, "RFC 9112 section 6.3, rule 8"),
  ResponseCase(ok("Content-Length: 5\r\n"), to: .head, .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase(ok("Transfer-Encoding: chunked\r\n"), to: .head, .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 204 No Content\r\n\r\n", .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 100 Continue\r\n\r\n", .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", .none, "RFC 9112 section 6.3, rule 1"),
  ResponseCase("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", .length(0), "RFC 9112 section 4: the reason may be empty"),
  ResponseCase("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", .length(0), "many servers leave the last space out"),
  ResponseCase("HTTP/1.1 599 \u{DC}ber\tall\r\nContent-Length: 0\r\n\r\n", .length(0), "RFC 9112 section 4: obs-text and tab"),
]

let refusedResponses: [ResponseCase] = [
  ResponseCase("HTTP/2.0 200 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 2.3"),
  ResponseCase("HTTP/1.2 200 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 2.3"),
  ResponseCase("ICY 200 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4"),
  ResponseCase("HTTP/1.1  200 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4"),
  ResponseCase("HTTP/1.1 20 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4: three digits"),
  ResponseCase("HTTP/1.1 2000 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4: three digits"),
  ResponseCase("HTTP/1.1 +20 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4: three digits"),
  ResponseCase("HTTP/1.1 200OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4"),
  ResponseCase("HTTP/1.1 200\tOK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 4"),
  ResponseCase("\r\nHTTP/1.1 200 OK\r\n\r\n", .statusLineMalformed, "RFC 9112 section 2.2 is for requests"),
  ResponseCase("HTTP/1.1 099 OK\r\n\r\n", .statusOutOfRange, "RFC 9110 section 15"),
  ResponseCase("HTTP/1.1 600 OK\r\n\r\n", .statusOutOfRange, "RFC 9110 section 15"),
  ResponseCase("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", .upgradeNotRequested, "RFC 9110 section 15.2.2"),
  ResponseCase("HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n", .interimAnswerWithBody, "RFC 9110 section 8.6"),
  ResponseCase("HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n", .interimAnswerWithBody, "RFC 9112 section 6.1"),
  ResponseCase("HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", .bareLineFeed, "RFC 9112 section 2.2"),
  ResponseCase("HTTP/1.1 200 O\rK\r\n\r\n", .bareCarriageReturn, "RFC 9112 section 2.2"),
  ResponseCase(ok("A: b\0\r\n"), .controlCharacter, "RFC 9110 section 5.5"),
  ResponseCase(ok("A: b\r\n c\r\n"), .foldedLine, "RFC 9112 section 5.2"),
  ResponseCase(ok("A : b\r\n"), .spaceBeforeColon, "RFC 9112 section 5.1"),
  ResponseCase(ok("A\r\n"), .fieldNameMalformed, "RFC 9112 section 5"),
  ResponseCase(ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), .lengthAndTransferEncoding, "RFC 9112 section 6.3"),
  ResponseCase(
    ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), to: .head, .lengthAndTransferEncoding, "also where no body follows"),
  ResponseCase(ok("Content-Length: 5\r\nContent-Length: 5\r\n"), .contentLengthRepeated, "RFC 9112 section 6.3"),
  ResponseCase(ok("Content-Length: 5, 5\r\n"), .contentLengthMalformed, "RFC 9112 section 6.3"),
  ResponseCase(ok("Content-Length: -1\r\n"), .contentLengthMalformed, "RFC 9112 section 6.3"),
  ResponseCase(ok("Transfer-Encoding: gzip, chunked\r\n"), .transferEncodingNotSupported, "RFC 9112 section 6.1"),
  ResponseCase(ok("Transfer-Encoding: chunked, chunked\r\n"), .transferEncodingMalformed, "RFC 9112 section 6.1"),
  ResponseCase(
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInHTTP10, "RFC 9112 section 6.1"),
  ResponseCase(ok("Connection: a b\r\n"), .connectionMalformed, "RFC 9110 section 7.6.1"),
  ResponseCase(
    ok("Content-Length: 5\r\nConnection: Content-Length\r\n"), .connectionNamesEndToEndField, "framing is not the hop's to remove"),
]

@Suite struct ResponseHeadTests {
  @Test(arguments: validResponses)
  func aValidAnswerIsFramedByMethodStatusAndFields(response: ResponseCase) {
    let head = ResponseHead()
    #expect(head.parse(response.text, answering: response.method) == .complete(byteCount: response.text.utf8.count))
    #expect(head.framing == response.framing)
  }

  @Test(arguments: refusedResponses)
  func anAnswerThatCouldBeReadInTwoWaysIsRefused(response: ResponseCase) {
    let outcome = ResponseHead().parse(response.text, answering: response.method)
    #expect(response.refusal.map { HeadOutcome.refused($0) } == outcome)
  }

  @Test func interimAnswersAreToldFromTheFinalOne() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n"
    let final = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
    let head = ResponseHead()
    #expect(head.parse(interim + final) == .complete(byteCount: interim.utf8.count))
    #expect(head.isInterim == true)
    #expect(head.parse(final) == .complete(byteCount: final.utf8.count))
    #expect(head.isInterim == false)
    #expect(head.status == 201)
  }

  @Test(arguments: [("Content-Length: 5", true), ("Transfer-Encoding: chunked", true), ("Content-Length: 0", false), ("Date: x", false)])
  func anAnswerToHeadMayAnnounceABodyAndKeepsTheConnection(field: String, announces: Bool) {
    let head = ResponseHead()
    let bytes = Array("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n".utf8)
    #expect(head.parse(bytes.span, answering: .head, limits: HeadLimits()) == .complete(byteCount: bytes.count))
    #expect(head.keepsAlive)
    #expect(head.announcesAbsentBody == announces)
  }

  // RFC 9112 section 9.3
  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
    ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false),
    ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false),
    ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true),
    ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", true),
    ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", false),
    ("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", false),
    ("HTTP/1.1 304 Not Modified\r\n\r\n", true),
    ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", true),
  ])
  func anUpstreamsConnectionIsKeptAsItsAnswerSays(text: String, keeps: Bool) {
    #expect(ResponseHead.parsed(text).keepsAlive == keeps)
  }

  @Test func aHeadOverItsLimitsIsRefused() {
    let limits = HeadLimits(headBytesMax: 64, startLineBytesMax: 32, fieldCountMax: 2)
    let head = ResponseHead()
    let long = String(repeating: "r", count: 60)
    #expect(head.parse("HTTP/1.1 200 \(long)", limits: limits) == .refused(.startLineTooLong))
    #expect(head.parse("HTTP/1.1 200 OK\r\nA: \(long)", limits: limits) == .refused(.headTooLarge))
    #expect(head.parse("HTTP/1.1 200 OK\r\nA:\r\nA:\r\nA:\r\n", limits: limits) == .refused(.tooManyFields))
  }
}

@Suite struct ConnectionReuseTests {
  @Test(arguments: [
    (true, true, BodyFraming.chunked, true, false, true), (false, true, .chunked, true, false, false),
    (true, false, .chunked, true, false, false), (true, true, .untilClose, true, false, false),
    (true, true, .chunked, false, false, false), (true, true, .chunked, true, true, false),
  ])
  func aClientsConnectionIsReadOnOnlyWhenBothMessagesEnded(
    keepsAlive: Bool, requestEnded: Bool, framing: BodyFraming, answerEnded: Bool, isDraining: Bool, reuse: Bool
  ) {
    let decided = ConnectionReuse.ofClient(
      requestKeepsAlive: keepsAlive, requestBodyEnded: requestEnded, answerFraming: framing, answerEnded: answerEnded,
      isDraining: isDraining)
    #expect(decided == reuse)
  }

  @Test(arguments: [
    (true, BodyFraming.length(3), true, true, 0, true), (false, .length(3), true, true, 0, false),
    (true, .untilClose, true, true, 0, false), (true, .length(3), false, true, 0, false), (true, .length(3), true, false, 0, false),
    (true, .length(3), true, true, 1, false),
  ])
  func anUpstreamsConnectionIsPooledOnlyWhenNothingIsLeftOfTheExchange(
    keepsAlive: Bool, framing: BodyFraming, answerEnded: Bool, requestEnded: Bool, surplus: Int, reuse: Bool
  ) {
    let decided = ConnectionReuse.ofUpstream(
      answerKeepsAlive: keepsAlive, answerFraming: framing, answerEnded: answerEnded, requestEnded: requestEnded, surplusBytes: surplus)
    #expect(decided == reuse)
  }
}
