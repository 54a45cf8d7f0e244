import Fixtures
import Testing

/// What the upstream sees of a request's fields, and the client of an answer's.
@Suite struct FieldTests {
  private func seen(by request: String, listener: [String] = [], upstream options: String = "") throws -> RawMessage {
    var seen: RawMessage?
    try withProxy(upstream: options, listener: listener) { gate, upstream in
      _ = try exchange(port: gate.port, request)
      seen = upstream.requests.first?.message
    }
    return try #require(seen)
  }

  @Test func fieldsOfOneConnectionAloneAreRemoved() throws {
    let request = try seen(
      by: """
        GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Own, close\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n\
        Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nProxy-Authorization: Basic eDp5\r\nX-Kept: 2\r\n\r\n
        """)
    for name in ["X-Own", "Keep-Alive", "TE", "Proxy-Connection", "Upgrade", "HTTP2-Settings"] {
      #expect(request.value(name) == nil, "\(name)")
    }
    #expect(request.value("X-Kept") == "2")
    #expect(request.value("Connection")?.contains("X-Own") != true)
  }

  @Test func fieldsOfOneConnectionAloneAreRemovedFromAnswers() throws {
    let fields = ["Connection: X-Own", "X-Own: 1", "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "X-Kept: 2"]
    try withProxy(script: { try $0.answer("hello", fields: fields) }) { gate, _ in
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      for name in ["X-Own", "Keep-Alive", "Proxy-Connection"] { #expect(answer.value(name) == nil, "\(name)") }
      #expect(answer.value("X-Kept") == "2")
    }
  }

  @Test func forwardedFieldsSayWhatTheGateKnowsAndNotWhatTheClientSays() throws {
    let request = try seen(
      by: """
        GET / HTTP/1.1\r\nHost: api.example.com\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil.example.com\r\n\
        X-Forwarded-Port: 1\r\nX-Forwarded-Prefix: /evil\r\nX-Forwarded-Server: evil\r\nX-Forwarded-Uri: /evil\r\nX-Forwarded-Method: PUT\r\n\
        X-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Request-Id: evil\r\n\r\n
        """)
    #expect(request.value("X-Forwarded-For") == "127.0.0.1")
    #expect(request.value("X-Forwarded-Proto") == "http")
    #expect(request.value("X-Forwarded-Host") == "api.example.com")
    #expect(!String(decoding: request.head, as: UTF8.self).contains("evil"))
    #expect(!String(decoding: request.head, as: UTF8.self).contains("6.6.6.6"))
    let identifier = try #require(request.value("X-Request-Id"))
    #expect(identifier.utf8.count >= 16)
  }

  @Test func whatTheConfigurationSetsOrRemovesIsNotAddedBesides() throws {
    let options = "request_headers: {set: {X-Forwarded-Proto: https, X-Request-Id: own}, remove: [X-Forwarded-For]}"
    let request = try seen(by: "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: ftp\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n", upstream: options)
    #expect(request.values("X-Forwarded-Proto") == ["https"])
    #expect(request.values("X-Request-Id") == ["own"])
    #expect(request.values("X-Forwarded-For").isEmpty)
    #expect(request.values("X-Forwarded-Host") == ["a"])
  }

  @Test func everyRequestHasAnIdentifierOfItsOwn() throws {
    try withProxy { gate, upstream in
      let client = try gate.connect()
      for _ in 0..<10 { _ = try client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      let identifiers = Set(upstream.requests.compactMap { $0.message.value("X-Request-Id") })
      #expect(identifiers.count == 10)
      #expect(Set(try gate.accessLog(count: 10).compactMap { $0["request_id"] }) == identifiers)
    }
  }

  @Test func namesWithUnderscoresAreRemovedUnlessTheListenerSaysOtherwise() throws {
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX_Auth_User: root\r\nX-Own: 1\r\n\r\n"
    #expect(try seen(by: request).value("X_Auth_User") == nil)
    #expect(try seen(by: request, listener: ["underscore_headers: keep"]).value("X_Auth_User") == "root")
    try withProxy(listener: ["underscore_headers: reject"]) { gate, upstream in
      let answer = try exchange(port: gate.port, request)
      #expect(answer.status == 400)
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test(arguments: ["X-App-Attest-Status", "X-App-Attest-Key-Id", "x-app-attest-anything", "X_App_Attest_Status", "X-App_Attest-App"])
  func noClientCanPassForVerified(name: String) throws {
    for listener in [[], ["underscore_headers: keep"]] {
      let request = try seen(by: "GET / HTTP/1.1\r\nHost: a\r\n\(name): verified\r\nX-Own: 1\r\n\r\n", listener: listener)
      #expect(request.value(name) == nil)
      #expect(request.value("X-Own") == "1")
      #expect(!String(decoding: request.head, as: UTF8.self).lowercased().contains("attest"))
    }
  }

  @Test(arguments: ["X-App-Attest-Status", "x-app-attest-assertion", "X-Request-Id", "X-Forwarded-For", "Host", "Content-Length"])
  func aConnectionFieldCannotNameWhatTheGateAdds(name: String) throws {
    try withProxy(script: { try $0.answer(try $0.readBody()) }) { gate, upstream in
      let body = name == "Content-Length" ? "\(name): 3\r\n\r\nabc" : "\r\n"
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: \(name)\r\n\(body)")
      if answer.status == 400 { return #expect(upstream.requests.isEmpty) }
      // What the gate does not refuse must not take effect.
      #expect(!name.lowercased().hasPrefix("x-app-attest"))
      let request = try #require(upstream.requests.first?.message)
      #expect(request.value("X-Forwarded-For") == "127.0.0.1")
      #expect(request.value("X-Request-Id") != nil)
      #expect(request.value("Host") == "a")
    }
  }

  @Test func aTraceIsPassedOnAsItIs() throws {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let request = try seen(by: "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: \(trace)\r\ntracestate: a=1,b=2\r\n\r\n")
    #expect(request.values("traceparent") == [trace] && request.values("tracestate") == ["a=1,b=2"])
  }

  @Test func aBrowsersPreflightPassesWhereAnOpenRouteTakesItAndNothingElseDoes() throws {
    let routes = """
      - {path: "/v1/**", methods: [OPTIONS], upstream: api, gate: off}
        - {path: "/v1/**", upstream: api}
      """
    try withProxy(routes: routes) { gate, upstream in
      let fields = "Host: a\r\nOrigin: https://web.example\r\nAccess-Control-Request-Method: POST\r\n\r\n"
      let answers = try ["OPTIONS", "GET"].map { try exchange(port: gate.port, "\($0) /v1/orders HTTP/1.1\r\n\(fields)") }
      #expect(answers.map(\.status) == [200, 401])
      #expect(upstream.requests.map(\.message.startLine) == ["OPTIONS /v1/orders HTTP/1.1"])
    }
  }

  @Test func theHostIsTheClientsTheUpstreamsOrALiteral() throws {
    let request = "GET / HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n"
    #expect(try seen(by: request).value("Host") == "api.example.com:8080")
    #expect(try seen(by: request, upstream: "host: upstream").value("Host")?.hasPrefix("127.0.0.1:") == true)
    #expect(try seen(by: request, upstream: "host: legacy.internal").value("Host") == "legacy.internal")
  }

  @Test func fieldsAreSetAndRemovedOnTheWayInAndOut() throws {
    let options = """
      request_headers: {set: {Authorization: "Bearer secret"}, remove: [Cookie]}, \
      response_headers: {set: {Strict-Transport-Security: "max-age=1"}, remove: [Server]}
      """
    try withProxy(script: { try $0.answer("hello", fields: ["Server: legacy/1.0", "X-Kept: 1"]) }, upstream: options) { gate, upstream in
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: mine\r\nCookie: c\r\n\r\n")
      #expect(answer.value("Server") == nil)
      #expect(answer.value("Strict-Transport-Security") == "max-age=1")
      #expect(answer.value("X-Kept") == "1")
      let request = try #require(upstream.requests.first?.message)
      #expect(request.value("Authorization") == "Bearer secret")
      #expect(request.value("Cookie") == nil)
    }
  }

  @Test func fieldsThatMayStandThereTwiceStayApartAndInOrder() throws {
    let cookies = ["Set-Cookie: a=1; Expires=Mon, 01 Jan 2029 00:00:00 GMT", "Set-Cookie: b=2"]
    try withProxy(script: { try $0.answer("hello", fields: cookies) }) { gate, upstream in
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\nAccept: a/b\r\nX-Own: 1\r\nAccept: c/d\r\n\r\n")
      #expect(answer.values("Set-Cookie") == ["a=1; Expires=Mon, 01 Jan 2029 00:00:00 GMT", "b=2"])
      #expect(upstream.requests.first?.message.values("Accept") == ["a/b", "c/d"])
    }
  }

  @Test func aLoopOfProxiesIsBroken() throws {
    try withProxy { gate, upstream in
      let chain = (0..<40).map { "10.0.0.\($0)" }.joined(separator: ", ")
      let answer = try exchange(port: gate.port, "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(chain)\r\n\r\n")
      #expect(answer.status == 400)
      #expect(upstream.requests.isEmpty)
    }
  }
}
