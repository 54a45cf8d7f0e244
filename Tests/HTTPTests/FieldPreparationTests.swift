import Bytes
import HTTP
import Testing

private func request(_ lines: String) -> RequestHead {
  RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\(lines)Last: 1\r\n\r\n")
}

/// What an upstream sees of a request's fields besides Host and the last line.
private func passedOn(_ lines: String, _ policy: FieldPolicy = FieldPolicy()) -> String {
  let written = request(lines).written(policy: policy)
  let head = "GET / HTTP/1.1\r\nHost: h\r\n"
  guard written.hasPrefix(head), written.hasSuffix("Last: 1\r\n\r\n") else { return written }
  return String(String(written.dropFirst(head.count)).dropLast(9))
}

private let inputs = FieldNameSet(["x-app-attest-assertion", "X-App-Assertion", "Client_Data"])

@Suite struct FieldPreparationTests {
  @Test func ordinaryFieldsArePassedOnInTheirOrder() {
    #expect(passedOn("B: 1\r\nA: 2\r\nB: 3\r\nCookie: c\r\n") == "B: 1\r\nA: 2\r\nB: 3\r\nCookie: c\r\n")
  }

  // RFC 9112 section 5.1
  @Test func oddWhiteSpaceAroundAValueIsNotPassedOn() {
    #expect(passedOn("A:1\r\nB:\t2 \r\nC:  3\r\nD: 4\r\nE:\r\n") == "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: \r\n")
  }

  // RFC 9110 section 7.6.1
  @Test(arguments: [
    "Connection: close", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers", "Trailer: A", "Upgrade: websocket",
    "HTTP2-Settings: AAMAAABkAAQAAP", "Proxy-Authorization: Basic QQ==", "Proxy-Authenticate: Basic", "Proxy-Authentication-Info: a",
  ])
  func hopByHopFieldsAreDropped(line: String) {
    #expect(passedOn("\(line)\r\n") == "")
    #expect(passedOn("\(line.uppercased())\r\n") == "")
  }

  // RFC 9110 section 7.6.1
  @Test func fieldsThatConnectionNamesAreDropped() {
    #expect(passedOn("X-A: 1\r\nConnection: x-a, X-B\r\nX-B: 2\r\nX-C: 3\r\nX-a: 4\r\nConnection: X-D\r\nx-d: 5\r\n") == "X-C: 3\r\n")
  }

  @Test(arguments: ["Host", "Content-Length", "Transfer-Encoding", "Authorization", "Cookie", "hOsT"])
  func aConnectionThatNamesAFieldOnWhichTheMessageRestsIsRefused(name: String) {
    #expect(request("Connection: keep-alive, \(name)\r\n").prepareFields(FieldPolicy()) == .connectionNamesEndToEndField)
  }

  @Test(arguments: [
    "X-App-Attest-Status", "x-app-attest-anything", "X_App_Attest_Key_Id", "X-App_Attest-Key-Id", "x.app.attest.status",
    "X-App-Assertion", "x_app_assertion", "client_data", "Client-Data",
  ])
  func aConnectionThatNamesAFieldOfTheGateIsRefused(name: String) {
    let refusal = request("Connection: close, \(name)\r\n").prepareFields(FieldPolicy(inputs: inputs))
    #expect(refusal == .connectionNamesGateField)
  }

  @Test(arguments: [
    "X-App-Attest-Status: verified", "x-app-attest-key-id: a", "X-App-Attest-: a", "X_App_Attest_Status: verified",
    "X-App_Attest-Status: verified", "X-App-Attest_Status: verified", "X.App.Attest.Status: verified", "x-app-attest_anything_at_all: 1",
    "X_APP_ATTEST_AN_UNUSUALLY_LONG_NAME_OF_THE_GATE: 1",
  ])
  func theGatesOwnFieldsNeverComeFromAClient(line: String) {
    #expect(passedOn("\(line)\r\n") == "")
    #expect(passedOn("\(line)\r\n", FieldPolicy(underscores: .keep)) == "")
  }

  @Test(arguments: [
    "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: a", "X-Forwarded-Port: 1", "X-Forwarded-Prefix: /a",
    "X-Forwarded-Server: a", "X-Forwarded-Uri: /a", "X-Forwarded-Method: GET", "X-Forwarded-Ssl: on", "x-forwarded-whatever: 1",
    "X-Real-IP: 192.0.2.1", "Forwarded: for=192.0.2.1", "X-Request-Id: a", "X-Original-URL: /admin", "X-Rewrite-URL: /admin",
    "X_Forwarded_For: 192.0.2.1", "X_Real_IP: 192.0.2.1", "Expect: 100-continue",
  ])
  func whatOnlyATrustedHopMaySayNeverComesFromAClient(line: String) {
    #expect(passedOn("\(line)\r\n", FieldPolicy(underscores: .keep)) == "")
  }

  @Test(arguments: [
    (FieldPolicy.Underscores.drop, "A_B: 1\r\nA-B: 2\r\n_: 3\r\n", "A-B: 2\r\n"),
    (.keep, "A_B: 1\r\nA-B: 2\r\n_: 3\r\n", "A_B: 1\r\nA-B: 2\r\n_: 3\r\n"),
    (.reject, "A-B: 2\r\n", "A-B: 2\r\n"),
    (.reject, "A_B: 1\r\n", "refused: underscoreInFieldName"),
    (.keep, "Content_Length: 1\r\nTransfer_Encoding: chunked\r\nHost_: a\r\n", "Host_: a\r\n"),
    (.keep, "Authorization_: a\r\nX.Y: 1\r\n", "Authorization_: a\r\nX.Y: 1\r\n"),
  ])
  func namesWithUnderscoresAreTreatedAsTheListenerSays(underscores: FieldPolicy.Underscores, lines: String, expected: String) {
    #expect(passedOn(lines, FieldPolicy(underscores: underscores)) == expected)
  }

  @Test func inputsAreReadAndNotPassedOn() {
    let head = request("X-App-Attest-Assertion: a\r\nX-App-Assertion: b\r\nX-App-Assertion-2: c\r\n")
    #expect(head.prepareFields(FieldPolicy(inputs: inputs)) == nil)
    #expect(head.value("x-app-attest-assertion") == "a")
    #expect(head.value("x-app-assertion") == "b")
    #expect(passedOn("X-App-Attest-Assertion: a\r\nX-App-Assertion: b\r\nX-A: c\r\n", FieldPolicy(inputs: inputs)) == "X-A: c\r\n")
  }

  @Test func inputsArePassedOnWhereTheRouteKeepsThemAndOnlyThey() {
    let policy = FieldPolicy(inputs: inputs, keepsInputs: true)
    let lines = "X-App-Attest-Assertion: a\r\nX-App-Assertion: b\r\nX-App-Attest-Status: verified\r\n"
    #expect(passedOn(lines, policy) == "X-App-Attest-Assertion: a\r\nX-App-Assertion: b\r\n")
  }

  @Test(arguments: [FieldPolicy.Underscores.drop, .keep])
  func twinsOfInputsAreNeitherReadNorPassedOn(underscores: FieldPolicy.Underscores) {
    let policy = FieldPolicy(underscores: underscores, inputs: inputs, keepsInputs: true)
    let head = request("X_App_Assertion: a\r\n")
    #expect(head.prepareFields(policy) == nil)
    #expect(head.lookUp("x_app_assertion") == .absent)
    #expect(passedOn("X_App_Assertion: a\r\nX_App-Assertion: b\r\n", policy) == "")
  }

  @Test func aDroppedFieldIsNoInput() {
    let head = request("Keep-Alive: a\r\nConnection: X-Other\r\nX-Other: 1\r\n")
    #expect(head.prepareFields(FieldPolicy(inputs: FieldNameSet(["keep-alive"]))) == nil)
    #expect(head.lookUp("keep-alive") == .absent)
    #expect(head.lookUp("x-other") == .absent)
  }

  @Test func aRequestThatWasForwardedTooOftenIsRefused() {
    let entries = Array(repeating: "192.0.2.1", count: 16).joined(separator: ", ")
    #expect(request("X-Forwarded-For: \(entries)\r\nX-Forwarded-For: \(entries)\r\n").prepareFields(FieldPolicy()) == nil)
    let refusal = request("X-Forwarded-For: \(entries)\r\nX-Forwarded-For: \(entries), a\r\n").prepareFields(FieldPolicy())
    #expect(refusal == .forwardingLoop)
  }

  @Test func fieldsThatTheUpstreamSetsOrRemovesReplaceTheClients() throws {
    let changes = try #require(FieldChanges(set: [("Authorization", "Bearer t"), ("X-New", "1")], remove: ["cookie"]))
    let written = request("authorization: mine\r\nCOOKIE: c\r\nX-Kept: 1\r\n").written(policy: FieldPolicy(changes: changes))
    #expect(written == "GET / HTTP/1.1\r\nHost: h\r\nX-Kept: 1\r\nLast: 1\r\nAuthorization: Bearer t\r\nX-New: 1\r\n\r\n")
  }

  @Test func twinsOfFieldsThatTheUpstreamSetsAreNotPassedOn() throws {
    let changes = try #require(FieldChanges(set: [("X-Api-Key", "1")], remove: []))
    let policy = FieldPolicy(underscores: .keep, changes: changes)
    let written = request("X_Api_Key: a\r\nx.api.key: b\r\nX_Other: c\r\n").written(policy: policy)
    #expect(written == "GET / HTTP/1.1\r\nHost: h\r\nX_Other: c\r\nLast: 1\r\nX-Api-Key: 1\r\n\r\n")
  }

  @Test func fieldsArePreparedExactlyOnce() async {
    await #expect(processExitsWith: .failure) {
      let head = RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = head.prepareFields(FieldPolicy())
      _ = head.prepareFields(FieldPolicy())
    }
    await #expect(processExitsWith: .failure) {
      let head = RequestHead.parsed("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      var output = ByteQueue()
      head.writeUpstream(to: &output, host: .addedByCaller, framing: .none, changes: .none)
    }
  }
}

@Suite struct FieldChangesTests {
  @Test(arguments: [
    ("X-A", "1", true), ("X-A", "", true), ("X-A", "\u{E9} \t x", true), ("", "1", false), ("X A", "1", false), ("X-A:", "1", false),
    ("X-A", "1\r\nX-B: 2", false), ("X-A", "1\n", false), ("X-A", "\0", false), ("X-A", " 1", false), ("X-A", "1\t", false),
    ("Host", "a", false), ("content-length", "1", false), ("Transfer-Encoding", "chunked", false), ("Connection", "close", false),
    ("X-App-Attest-Status", "verified", false), ("x_app_attest_status", "verified", false), ("Keep-Alive", "1", false),
    ("Expect", "100-continue", false), ("x.app.attest.a", "1", false),
  ])
  func onlyFieldsThatMeanNoHarmMayBeSet(name: String, value: String, isTaken: Bool) {
    #expect((FieldChanges.fault(name: name, value: value) == nil) == isTaken)
    #expect((FieldChanges(set: [(name, value)], remove: []) != nil) == isTaken)
  }
}
