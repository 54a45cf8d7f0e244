import Bytes
import Foundation
import HTTP
import Testing

private let date = HTTPDate(unixSeconds: 784_111_777)

extension LocalAnswer {
  fileprivate func written(
    to method: RequestMethod = .get, version: HTTPVersion = .http11, closes: Bool = false
  ) -> String {
    var output = ByteQueue()
    write(to: &output, answering: method, version: version, closes: closes, date: date)
    return output.text
  }
}

@Suite struct LocalAnswerTests {
  @Test func anAnswerOfTheGateIsCompleteAndNotStored() {
    let answer = LocalAnswer(status: 200, fields: [.retryAfter(seconds: 3)], body: Array("abc".utf8))
    #expect(
      answer.written()
        == "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
        + "Cache-Control: no-store\r\nRetry-After: 3\r\n\r\nabc")
  }

  @Test func headGetsTheHeadAlone() {
    let answer = LocalAnswer(status: 200, body: Array("abc".utf8))
    #expect(answer.written(to: .head) == String(answer.written().dropLast(3)))
  }

  // RFC 9110 section 8.6: no Content-Length with 204.
  @Test func anAnswerWithoutContentHasNoLength() {
    let text = LocalAnswer(status: 204, fields: [.allow(["GET", "HEAD"])]).written(to: .options)
    #expect(
      text
        == "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: no-store\r\nAllow: GET, HEAD\r\n\r\n")
  }

  @Test(arguments: [
    (HTTPVersion.http11, false, ""), (.http11, true, "Connection: close\r\n"), (.http10, false, "Connection: keep-alive\r\n"),
    (.http10, true, "Connection: close\r\n"),
  ])
  func theClientIsToldWhetherTheConnectionGoesOn(version: HTTPVersion, closes: Bool, expected: String) {
    let text = LocalAnswer(status: 404).written(version: version, closes: closes)
    #expect(text.hasSuffix("Cache-Control: no-store\r\n\(expected)\r\n"))
  }

  @Test func whatGoesIntoAFieldCannotEndIt() {
    let text = LocalAnswer(status: 401, fields: [.authenticate(challenge: Array("a\r\nb".utf8))]).written()
    #expect(text.contains("\r\nWWW-Authenticate: AppAttest challenge=\"a  b\"\r\n"))
  }
}

@Suite struct ProblemDocumentTests {
  /// The members of the document in an answer's body.
  private func members(_ document: ProblemDocument) throws -> [String: any Sendable] {
    let object = try JSONSerialization.jsonObject(with: Data(document.answer.body))
    return try #require(object as? [String: any Sendable])
  }

  @Test func aDocumentHasTheMembersOfTheContract() throws {
    let document = ProblemDocument(
      .challengeUsed, detail: "the challenge was \"used\"\n", requestID: Array("r-1".utf8),
      fields: [.authenticate(challenge: Array("fresh".utf8))])
    let members = try members(document)
    #expect(members.count == 7)
    #expect(members["type"] as? String == "urn:attestgate:problem:challenge_used")
    #expect(members["title"] as? String == ProblemCode.challengeUsed.title)
    #expect(members["status"] as? Int == 401)
    #expect(members["detail"] as? String == "the challenge was \"used\"\n")
    #expect(members["code"] as? String == "challenge_used")
    #expect(members["recovery"] as? String == "fetch_challenge")
    #expect(members["request_id"] as? String == "r-1")
    let text = document.answer.written()
    #expect(text.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
    #expect(text.contains("\r\nContent-Type: application/problem+json\r\n"))
    #expect(text.contains("\r\nCache-Control: no-store\r\nWWW-Authenticate: AppAttest challenge=\"fresh\"\r\n"))
  }

  @Test func bytesThatAreNoTextDoNotSpoilADocument() throws {
    let identifier: [UInt8] = [0x22, 0xFF, 0x5C, 0x00, 0xC3]
    let members = try members(ProblemDocument(.noRoute, detail: "", requestID: identifier))
    #expect(members["request_id"] as? String == "\"\u{FFFD}\\\0\u{FFFD}")
  }

  @Test func theEnrolmentEndpointSaysAnotherStatusAndRecovery() throws {
    var document = ProblemDocument(.challengeUsed, detail: "", requestID: [])
    document.status = 400
    document.recovery = .enrolAgain
    let members = try members(document)
    #expect(members["status"] as? Int == 400)
    #expect(members["recovery"] as? String == "enroll_again")
    #expect(document.answer.written().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test(arguments: [(HeadRefusal.startLineTooLong, 414, ""), (.methodNotAllowed, 405, "\r\nAllow: GET, HEAD, "), (.hostMissing, 400, "")])
  func aRefusedHeadIsAnsweredWithItsOwnStatus(refusal: HeadRefusal, status: Int, field: String) throws {
    let document = ProblemDocument(refusal, requestID: [])
    let members = try members(document)
    #expect(members["status"] as? Int == status)
    #expect(members["detail"] as? String == refusal.detail)
    #expect(document.answer.written().hasPrefix("HTTP/1.1 \(status) "))
    #expect(field.isEmpty || document.answer.written().contains(field))
  }

  /// The table of wire.md, "What the client sees when rejected".
  @Test(arguments: [
    (401, Recovery.signAgain, "assertion_missing signature_invalid assertion_unrecognised counter_replayed"),
    (400, .fixRequest, "assertion_malformed client_data_missing client_data_malformed key_id_malformed challenge_missing"),
    (403, .fixRequest, "method_mismatch path_mismatch query_mismatch query_unbound body_mismatch host_mismatch"),
    (401, .enrolAgain, "key_unknown"),
    (403, .giveUp, "key_revoked app_not_allowed environment_not_allowed category_not_allowed bundle_version_too_old risk_too_high"),
    (403, .giveUp, "rp_id_mismatch"),
    (409, .checkResult, "assertion_already_accepted"),
    (401, .fetchChallenge, "challenge_unknown challenge_expired challenge_used challenge_wrong_purpose challenge_wrong_key"),
    (400, .enrolAgain, "attestation_malformed attestation_format certificate_chain_invalid nonce_mismatch key_id_mismatch"),
    (400, .enrolAgain, "credential_id_mismatch counter_not_zero receipt_malformed"),
    (409, .useKey, "key_already_enrolled"),
    (400, .fixRequest, "request_malformed http_malformed path_ambiguous"),
    (405, .fixRequest, "method_not_allowed"), (408, .fixRequest, "request_timeout"), (431, .fixRequest, "headers_too_large"),
    (501, .fixRequest, "not_implemented"), (505, .fixRequest, "version_not_supported"), (417, .fixRequest, "expectation_failed"),
    (503, .retryLater, "overloaded store_unavailable"), (413, .fixRequest, "body_too_large"), (429, .retryLater, "rate_limited"),
    (404, .fixRequest, "no_route"), (500, .retryLater, "internal_error"), (504, .retryLater, "upstream_timeout"),
    (502, .retryLater, "upstream_unreachable upstream_invalid"),
  ])
  func aCodeHasTheStatusAndRecoveryOfTheContract(status: Int, recovery: Recovery, codes: String) throws {
    for name in codes.split(separator: " ") {
      let code = try #require(ProblemCode(rawValue: String(name)))
      #expect(code.status == status, "\(name)")
      #expect(code.recovery == recovery, "\(name)")
    }
  }

  @Test func everyCodeHasATitleAndAReason() {
    for code in ProblemCode.allCases {
      #expect(!code.title.isEmpty)
      #expect(ReasonPhrase.of(code.status).utf8CodeUnitCount > 0, "\(code.status)")
    }
  }
}

@Suite struct HTTPDateTests {
  // RFC 9110 section 5.6.7
  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
    (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
    (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (253_402_300_800, "Fri, 31 Dec 9999 23:59:59 GMT"),
    (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
  ])
  func aDateIsWrittenInTheFixedForm(seconds: Int, text: String) {
    #expect(String(decoding: HTTPDate(unixSeconds: seconds).text, as: UTF8.self) == text)
  }

  @Test func everyDayOfFourCenturiesAgreesWithTheCalendar() {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for day in stride(from: 0, to: 146_097, by: 13) {
      let seconds = day * 86_400 + day
      let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
      #expect(String(decoding: HTTPDate(unixSeconds: seconds).text, as: UTF8.self) == expected)
    }
  }
}

@Suite struct AcceptTests {
  // RFC 9110 sections 12.4.2 and 12.5.1
  @Test(arguments: [
    ("", false), ("Accept: */*\r\n", false), ("Accept: application/*\r\n", false), ("Accept: application/json\r\n", true),
    ("Accept: Application/JSON\r\n", true), ("Accept: application/json, text/plain, */*\r\n", true),
    ("Accept: text/plain, application/json;q=0.9\r\n", false), ("Accept: text/plain;q=0.5, application/json;q=0.9\r\n", true),
    ("Accept: application/json;q=0\r\n", false), ("Accept: application/json;q=0.001\r\n", true),
    ("Accept: application/json; charset=utf-8; q=1.000\r\n", true), ("Accept: application/json;q=1.001\r\n", false),
    ("Accept: application/json;q=2\r\n", false), ("Accept: application/json;q=\r\n", false), ("Accept: application/json;q=0.5x\r\n", false),
    ("Accept: text/html\r\nAccept: application/json\r\n", true), ("Accept: application/jsonp\r\n", false),
    ("Accept: application/problem+json\r\n", false), ("Accept: application/json, \"\r\n", false),
  ])
  func jsonIsSentOnlyToWhoNamesIt(lines: String, json: Bool) {
    #expect(RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\(lines)\r\n").acceptsJSONRatherThanText == json)
  }
}
