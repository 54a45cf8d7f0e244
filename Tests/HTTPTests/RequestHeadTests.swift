import Bytes
import HTTP
import Testing

/// One head in view, with the rule that it is about.
struct RequestCase: CustomTestStringConvertible, Sendable {
  let text: String
  let refusal: HeadRefusal?
  let rule: String

  init(_ text: String, _ refusal: HeadRefusal? = nil, _ rule: String) {
    self.text = text
    self.refusal = refusal
    self.rule = rule
  }

  var testDescription: String { "\(rule): \(text.debugDescription.prefix(90))" }
}

@Suite struct RequestHeadTests {
  @Test(arguments: validRequests)
  func aValidHeadIsTakenWhole(request: RequestCase) {
    let head = RequestHead()
    #expect(head.parse(request.text) == .complete(byteCount: request.text.utf8.count))
  }

  @Test(arguments: refusedRequests)
  func aHeadThatCouldBeReadInTwoWaysIsRefused(request: RequestCase) {
    let head = RequestHead()
    #expect(request.refusal.map { HeadOutcome.refused($0) } == head.parse(request.text))
  }

  @Test func theNextHeadBeginsBehindTheFirst() {
    let first = "GET /a HTTP/1.1\r\nHost: a.example\r\nX-Only-Here: 1\r\n\r\n"
    let second = "POST /b HTTP/1.0\r\nContent-Length: 3\r\n\r\n"
    let head = RequestHead()
    #expect(head.parse(first + second + "abc") == .complete(byteCount: first.utf8.count))
    #expect(head.summary.target == "/a")
    #expect(head.value("x-only-here") == "1")
    #expect(head.parse(second + "abc") == .complete(byteCount: second.utf8.count))
    #expect(
      head.summary
        == RequestSummary(
          method: "POST", target: "/b", authority: nil, host: nil, version: .http10, form: .origin, framing: .length(3),
          keepsAlive: false, expectsContinue: false, fieldCount: 1))
    #expect(head.lookUp("x-only-here") == .absent)
  }

  @Test(arguments: [
    ("GET /a?b=c HTTP/1.1\r\nHost: h.example:8080\r\n\r\n", "/a?b=c", "h.example:8080", "h.example", TargetForm.origin),
    ("GET http://a.example/x?y HTTP/1.1\r\nHost: b.example\r\n\r\n", "/x?y", "a.example", "a.example", .absolute),
    ("GET HTTPS://a.example:444 HTTP/1.1\r\nHost: b.example\r\n\r\n", "/", "a.example:444", "a.example", .absolute),
    ("GET http://a.example?q=1 HTTP/1.1\r\nHost: b.example\r\n\r\n", "/?q=1", "a.example", "a.example", .absolute),
    ("OPTIONS http://a.example HTTP/1.1\r\nHost: b.example\r\n\r\n", "*", "a.example", "a.example", .asterisk),
    ("OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "*", "[::1]:80", "[::1]", .asterisk),
    ("GET //a.example/x HTTP/1.1\r\nHost: b.example\r\n\r\n", "//a.example/x", "b.example", "b.example", .origin),
  ])
  func targetAndHostAreThoseOfTheForm(text: String, target: String, authority: String, host: String, form: TargetForm) {
    let summary = RequestHead.parsed(text).summary
    #expect(summary.target == target)
    #expect(summary.authority == authority)
    #expect(summary.host == host)
    #expect(summary.form == form)
  }

  @Test(arguments: [
    ("", BodyFraming.none), ("Content-Length: 0\r\n", .length(0)), ("content-length:17  \r\n", .length(17)),
    ("Content-Length: 9223372036854775807\r\n", .length(Int.max)), ("Transfer-Encoding: Chunked\t\r\n", .chunked),
  ])
  func framingIsThatOfItsOneField(field: String, framing: BodyFraming) {
    #expect(RequestHead.parsed("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n").framing == framing)
  }

  // RFC 9112 section 9.3
  @Test(arguments: [
    ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.1", "Connection: keep-alive, Close\r\n", false),
    ("1.0", "", false), ("1.0", "Connection: Keep-Alive\r\n", true), ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
    ("1.1", "Connection: ,, close ,\r\n", false), ("1.1", "Connection: closed\r\n", true),
  ])
  func aConnectionPersistsAsTheVersionAndTheOptionsSay(version: String, field: String, persists: Bool) {
    #expect(RequestHead.parsed("GET / HTTP/\(version)\r\nHost: h\r\n\(field)\r\n").keepsAlive == persists)
  }

  // RFC 9110 section 10.1.1
  @Test(arguments: [
    ("1.1", "Content-Length: 1\r\n", true), ("1.1", "Transfer-Encoding: chunked\r\n", true), ("1.1", "", false),
    ("1.1", "Content-Length: 0\r\n", false), ("1.0", "Content-Length: 1\r\n", false),
  ])
  func aContinueIsExpectedOnlyForABodyAndNotInHTTP10(version: String, field: String, expects: Bool) {
    let head = RequestHead.parsed("POST / HTTP/\(version)\r\nHost: h\r\nExpect: 100-Continue\r\n\(field)\r\n")
    #expect(head.expectsContinue == expects)
  }

  @Test func fieldsAreFoundInAnyCaseAndRepetitionIsTold() {
    let head = RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-b: \t 2 3\t \r\nX-a: 1\r\nEmpty:\r\n\r\n")
    #expect(head.value("x-b") == "2 3")
    #expect(head.lookUp("x-a") == .repeated)
    #expect(head.value("empty") == "")
    #expect(head.lookUp("x-c") == .absent)
    #expect(head.field(.host) != .absent)
  }

  @Test func aRefusedHeadStillTellsItsRequestLineForTheLog() {
    let head = RequestHead()
    #expect(head.parse("GET /log?me HTTP/1.1\r\nHost: h\r\nBad Name: 1\r\n") == .refused(.fieldNameMalformed))
    #expect(head.text(head.methodRange) == "GET")
    #expect(head.text(head.targetAsSent) == "/log?me")
    #expect(head.text(head.target) == "")
    #expect(head.lookUp("host") != .absent)
  }

  @Test func anIncompleteHeadTellsNothingYet() {
    let head = RequestHead()
    #expect(head.parse("\r\n") == .incomplete)
    #expect(head.hasBegun == false)
    #expect(head.parse("\r\nG") == .incomplete)
    #expect(head.hasBegun == true)
    head.reset()
    #expect(head.parse("GET / HTTP/1.1\r\nHost: h\r\n") == .incomplete)
    #expect(head.hasBegun == true)
    #expect(head.text(head.targetAsSent) == "")
    #expect(head.authority == nil)
    #expect(head.lookUp("host") == .absent)
    head.reset()
    #expect(head.hasBegun == false)
    #expect(head.parse("GET / HTTP/1.1\r\nHost: h\r\n\r\n") == .complete(byteCount: 27))
    #expect(head.hasBegun == false)
  }

  @Test func aHeadWorksOnAfterItsStorageWasGivenBack() {
    let head = RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    head.releaseStorage()
    #expect(head.parse("PUT /2 HTTP/1.1\r\nHost: i\r\n\r\n") == .complete(byteCount: 28))
    #expect(head.summary.target == "/2")
  }

  @Test func consumingAnIncompleteHeadTraps() async {
    await #expect(processExitsWith: .failure) {
      let head = RequestHead()
      _ = head.parse("GET / HTTP/1.1\r\nHost: h\r\n")
      _ = head.parse("GET")
    }
  }
}

@Suite struct HeadLimitTests {
  static let limits = HeadLimits(headBytesMax: 64, startLineBytesMax: 32, fieldCountMax: 2)

  /// A request line of `count` bytes, with its CRLF behind them.
  private static func requestLine(_ count: Int) -> String { "GET /\(String(repeating: "a", count: count - 14)) HTTP/1.1\r\n" }

  /// A head of `count` bytes with one field besides Host.
  private static func head(_ count: Int) -> String {
    "GET / HTTP/1.1\r\nHost: h\r\nA: \(String(repeating: "a", count: count - 32))\r\n\r\n"
  }

  @Test(arguments: [
    (requestLine(32) + "Host: h\r\n\r\n", HeadOutcome.complete(byteCount: 45)),
    (requestLine(33) + "Host: h\r\n\r\n", .refused(.startLineTooLong)),
    (String(requestLine(40).prefix(33)), .incomplete),
    (String(requestLine(40).prefix(34)), .refused(.startLineTooLong)),
    ("\r\n" + requestLine(32) + "Host: h\r\n\r\n", .complete(byteCount: 47)),
    ("\r\n" + requestLine(33) + "Host: h\r\n\r\n", .refused(.startLineTooLong)),
    (head(64), .complete(byteCount: 64)),
    (head(65), .refused(.headTooLarge)),
    (String(head(80).dropLast(15)), .incomplete),
    (String(head(80).dropLast(14)), .refused(.headTooLarge)),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\n\r\n", .complete(byteCount: 33)),
    ("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n", .refused(.tooManyFields)),
  ])
  func aHeadMayReachItsLimitsAndNoByteMore(text: String, outcome: HeadOutcome) {
    #expect(RequestHead().parse(text, limits: Self.limits) == outcome)
  }

  @Test func namesOfMethodsAndFieldsAreBounded() {
    let method = String(repeating: "M", count: 32)
    let name = String(repeating: "n", count: 256)
    let head = RequestHead()
    #expect(head.parse("\(method) / HTTP/1.1\r\nHost: h\r\n\(name): 1\r\n\r\n") == .complete(byteCount: 317))
    #expect(head.parse("\(method)M / HTTP/1.1\r\nHost: h\r\n\r\n") == .refused(.methodMalformed))
    #expect(head.parse("GET / HTTP/1.1\r\nHost: h\r\n\(name)n: 1\r\n\r\n") == .refused(.fieldNameTooLong))
  }

  // RFC 9112 section 3: at least 8,000 octets.
  @Test func aRequestLineOf8000BytesIsTaken() {
    let text = "GET /\(String(repeating: "a", count: 7_986)) HTTP/1.1\r\nHost: h\r\n\r\n"
    #expect(RequestHead().parse(text) == .complete(byteCount: 8_013))
  }

  @Test(arguments: [
    (HeadRefusal.startLineTooLong, ProblemCode.headersTooLarge, 414), (.headTooLarge, .headersTooLarge, 431),
    (.tooManyFields, .headersTooLarge, 431), (.methodNotAllowed, .methodNotAllowed, 405), (.fragment, .pathAmbiguous, 400),
    (.versionNotSupported, .versionNotSupported, 505), (.transferEncodingNotSupported, .notImplemented, 501),
    (.expectationNotSupported, .expectationFailed, 417), (.bareLineFeed, .httpMalformed, 400), (.hostMissing, .httpMalformed, 400),
  ])
  func aRefusalHasItsCodeAndStatus(refusal: HeadRefusal, code: ProblemCode, status: Int) {
    #expect(refusal.code == code)
    #expect(refusal.status == status)
    #expect(!refusal.detail.isEmpty)
  }
}
