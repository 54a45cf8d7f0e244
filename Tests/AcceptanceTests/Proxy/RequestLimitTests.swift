import Fixtures
import Glibc
import Testing

/// How many requests an upstream gets at once, and how many an address may send.
@Suite struct RequestLimitTests {
  static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func queued(_ gate: GateProcess) -> Double? { try? gate.metric("attestgate_upstream_queued_requests", ["upstream": "api"]) }

  private func overloaded(_ gate: GateProcess, _ reason: String) throws -> Double? {
    try gate.metric("attestgate_upstream_overloaded_total", ["upstream": "api", "reason": reason])
  }

  // MARK: At once

  @Test func requestsBeyondTheUpstreamsPlacesWaitAndThoseBeyondTheQueueAreRefused() throws {
    let mayAnswer = Latch()
    try withProxy(
      script: { exchange in
        mayAnswer.wait()
        try exchange.answer("served")
      }, upstream: "max_concurrent: 2, queue: 1"
    ) { gate, upstream in
      let served = try (0..<2).map { _ in try gate.connect() }
      for client in served { try client.send(Self.request) }
      #expect(eventually { upstream.requests.count == 2 })
      let waiting = try gate.connect()
      try waiting.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nlater")
      #expect(eventually { queued(gate) == 1 })
      let refused = try exchange(port: gate.port, Self.request)
      #expect(try problem(in: refused).code == "overloaded" && refused.status == 503)
      #expect(refused.value("Retry-After") == "1")
      #expect(upstream.requests.count == 2)
      mayAnswer.open()
      for client in served + [waiting] { #expect(try client.readAnswer().text == "served") }
      #expect(upstream.requests.last?.message.text == "later")
      #expect(try queued(gate) == 0 && overloaded(gate, "queue_full") == 1)
    }
  }

  @Test func whoWaitsTooLongInTheQueueIsTold() throws {
    let mayAnswer = Latch()
    try withProxy(
      script: { exchange in
        mayAnswer.wait()
        try exchange.answer("served")
      }, upstream: "max_concurrent: 1, queue: {length: 5, timeout: 200ms}"
    ) { gate, upstream in
      let served = try gate.connect()
      try served.send(Self.request)
      #expect(eventually { upstream.requests.count == 1 })
      let refused = try exchange(port: gate.port, Self.request)
      #expect(try problem(in: refused).code == "overloaded")
      #expect(try overloaded(gate, "queue_timeout") == 1)
      mayAnswer.open()
      #expect(try served.readAnswer().text == "served")
      #expect(try exchange(port: gate.port, Self.request).text == "served")
    }
  }

  @Test func whoGoesAwayFromTheQueueTakesNoPlace() throws {
    let mayAnswer = Latch()
    try withProxy(
      script: { exchange in
        mayAnswer.wait()
        try exchange.answer("served")
      }, upstream: "max_concurrent: 1, queue: {length: 8, timeout: 20s}"
    ) { gate, upstream in
      let served = try gate.connect()
      try served.send(Self.request)
      #expect(eventually { upstream.requests.count == 1 })
      let gone = try (0..<4).map { _ in try gate.connect() }
      let patient = try gate.connect()
      for client in gone + [patient] { try client.send(Self.request) }
      #expect(eventually { queued(gate) == 5 })
      for client in gone { client.reset() }
      #expect(eventually { queued(gate) == 1 })
      mayAnswer.open()
      #expect(try served.readAnswer().text == "served")
      #expect(try patient.readAnswer().text == "served")
      #expect(upstream.requests.count == 2)
      #expect(try gate.accessLog(count: 6).count { $0["status"] == "499" } == 4)
    }
  }

  @Test func noWayOfFailingKeepsAPlace() throws {
    try withProxy(
      script: { exchange in
        switch exchange.target {
        case "/reset": exchange.reset()
        case "/nothing": exchange.close()
        case "/nonsense":
          try exchange.send("nonsense\r\n\r\n")
          exchange.close()
        case "/half":
          try exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
          exchange.close()
        case "/silent": _ = exchange.waitForHangUp()
        default: try exchange.answer("served")
        }
      }, upstream: "max_concurrent: 1, response_timeout: 200ms"
    ) { gate, _ in
      for target in ["/reset", "/nothing", "/nonsense", "/half", "/silent", "/fine"] {
        for method in ["GET", "POST"] {
          let client = try gate.connect()
          try client.send("\(method) \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
          _ = try client.readToEnd()
          #expect(try exchange(port: gate.port, Self.request).text == "served", "after \(method) \(target)")
        }
      }
      let leaving = try gate.connect()
      try leaving.send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
      leaving.reset()
      #expect(eventually { (try? exchange(port: gate.port, Self.request).text) == "served" })
      // One that breaks its body off while it streams.
      let broken = try gate.connect()
      try broken.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      broken.reset()
      #expect(eventually { (try? exchange(port: gate.port, Self.request).text) == "served" })
    }
  }

  // MARK: How much

  @Test func aBodyBeyondWhatAnOpenRouteTakesIsRefused() throws {
    let routes = """
      - {path: /small, upstream: api, gate: {mode: "off", max_body: 1KiB}}
        - {path: "/**", upstream: api, gate: off}
      """
    try withProxy(script: { try $0.answer("\($0.readBody().count)") }, routes: routes) { gate, upstream in
      func post(_ target: String, _ count: Int) throws -> RawMessage {
        let body = String(repeating: "x", count: count)
        return try exchange(port: gate.port, "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n\(body)")
      }
      #expect(try post("/small", 1_024).text == "1024")
      let refused = try post("/small", 1_025)
      #expect(try problem(in: refused).code == "body_too_large" && refused.status == 413)
      #expect(upstream.requests.count == 1)
      // Without a limit in the configuration there is none: such a body streams and is held nowhere.
      #expect(try post("/large", 3_000_000).text == "3000000")
      // Whose length is not known shows only on the way; the upstream never gets it whole.
      let chunk = String(repeating: "x", count: 2_000)
      let chunked = try exchange(
        port: gate.port, "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n\(chunk)\r\n0\r\n\r\n")
      #expect(chunked.status == 413)
      #expect(eventually { (try? gate.metric("attestgate_requests_total", ["code": "413"])) == 2 })
    }
  }

  @Test func headsBeyondTheirLimitsAreRefusedAndCounted() throws {
    try withProxy(listener: ["limits: {head_bytes: 2KiB, request_line_bytes: 1KiB, header_count: 5}"]) { gate, _ in
      let fields = (0..<5).map { "X-\($0): 1\r\n" }.joined()
      let requests = [
        ("GET /\(String(repeating: "a", count: 1_024)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 2_048))\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n", 431), (Self.request, 200),
      ]
      for (request, status) in requests {
        let answer = try exchange(port: gate.port, request)
        #expect(answer.status == status)
      }
      #expect(try gate.metric("attestgate_requests_total", ["route": "none", "code": "414"]) == 1)
      #expect(try gate.metric("attestgate_requests_total", ["route": "none", "code": "431"]) == 2)
    }
  }

  // MARK: By address

  @Test func anAddressThatComesTooOftenIsToldWhenToComeAgain() throws {
    let routes = """
      - {path: /limited, upstream: api, gate: off, rate: {address: 2/h}}
        - {path: "/**", upstream: api, gate: off}
      """
    try withProxy(routes: routes, workers: 2) { gate, upstream in
      for _ in 0..<2 { #expect(try exchange(port: gate.port, "GET /limited HTTP/1.1\r\nHost: a\r\n\r\n").status == 200) }
      let client = try gate.connect()
      let refused = try client.exchange("GET /limited HTTP/1.1\r\nHost: a\r\n\r\n")
      let about = try problem(in: refused)
      #expect(about.code == "rate_limited" && about.status == 429 && about.recovery == "retry_later")
      let seconds = try #require(refused.value("Retry-After").flatMap { Int($0) })
      #expect(1_700...1_800 ~= seconds)
      // The connection goes on, and other routes have nothing to do with it.
      #expect(try client.exchange("GET /other HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
      #expect(try gate.metric("attestgate_rate_limited_total", ["by": "address"]) == 1)
      #expect(upstream.requests.count == 3)
    }
  }

  @Test func theGatesOwnEndpointsAreLimitedAndAFreshChallengeWithARefusalIsNot() throws {
    let routes = """
      - {path: "/**", upstream: api}
      endpoints: {rate: {address: 3/h}}
      """
    try withProxy(routes: routes) { gate, _ in
      let challenge = "GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n"
      for _ in 0..<3 { #expect(try exchange(port: gate.port, challenge).status == 200) }
      for request in [challenge, "POST /attest/verify HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"] {
        #expect(try problem(in: exchange(port: gate.port, request)).code == "rate_limited")
      }
      for _ in 0..<10 {
        let answer = try exchange(port: gate.port, Self.request)
        #expect(answer.status == 401 && answer.value("WWW-Authenticate")?.hasPrefix("AppAttest challenge=") == true)
      }
    }
  }

  @Test func theEndpointsAreLimitedByDefault() throws {
    try withProxy { gate, _ in
      let client = try gate.connect()
      let answers = try (0..<300).map { _ in try client.exchange("GET /attest/challenge HTTP/1.1\r\nHost: a\r\n\r\n").status }
      #expect(answers.prefix(200).allSatisfy { $0 == 200 })
      #expect(answers.contains(429))
    }
  }
}
