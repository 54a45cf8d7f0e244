import Fixtures
import Glibc
import Testing

/// How many connections there may be, how much each may do, and what becomes of clients that are slow.
@Suite struct ConnectionLimitTests {
  static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func timeouts(_ gate: GateProcess, _ kind: String) throws -> Double? {
    try gate.metric("attestgate_timeouts_total", ["kind": kind])
  }

  // MARK: How many

  @Test(arguments: [1, 2])
  func whoComesWhenAllPlacesAreTakenWaitsUntilOneEnds(workers: Int) throws {
    try withProxy(listener: ["limits: {connections: 3}"], workers: workers) { gate, upstream in
      let served = try (0..<3).map { _ in try gate.connect() }
      for client in served { #expect(try client.exchange(Self.request).status == 200) }
      let waiting = try gate.connect()
      try waiting.send(Self.request)
      #expect(eventually { (try? gate.metric("attestgate_accept_pauses_total", ["reason": "connections"])) ?? 0 >= 1 })
      #expect(!waiting.isReadable(withinMilliseconds: 200))
      // Those that have a place are served as ever.
      #expect(try served[1].exchange(Self.request).status == 200)
      served[0].close()
      #expect(try waiting.readAnswer().status == 200)
      #expect(upstream.requests.count == 5)
    }
  }

  @Test func anAddressWithTooManyConnectionsHasTheNextOneClosedAtOnce() throws {
    try withProxy(listener: ["limits: {connections_per_address: 2}"], workers: 2) { gate, _ in
      let served = try (0..<2).map { _ in try gate.connect() }
      for client in served { #expect(try client.exchange(Self.request).status == 200) }
      for _ in 0..<3 { #expect(try gate.connect().endsNow()) }
      #expect(try gate.metric("attestgate_connection_limits_total", ["limit": "connections_per_address"]) == 3)
      #expect(try served[1].exchange(Self.request).status == 200)
      served[0].close()
      #expect(eventually { (try? gate.connect().exchange(Self.request).status) == 200 })
    }
  }

  @Test(arguments: [("- {path: \"/**\", upstream: api, gate: off}", 200), ("- {path: \"/**\", upstream: api}", 401)])
  func theLastRequestOfAConnectionClosesIt(route: String, status: Int) throws {
    try withProxy(listener: ["limits: {requests_per_connection: 3}"], routes: route) { gate, _ in
      let client = try gate.connect()
      for number in 1...3 {
        let answer = try client.exchange(Self.request)
        #expect(answer.status == status)
        #expect(answer.value("Connection") == (number == 3 ? "close" : nil))
      }
      #expect(try client.endsNow())
      #expect(try gate.metric("attestgate_connection_limits_total", ["limit": "requests_per_connection"]) == 1)
    }
  }

  // MARK: How slow

  @Test func aHeadThatNeverEndsIsCutOff() throws {
    try withProxy(listener: ["head_timeout: 300ms"]) { gate, upstream in
      let client = try gate.connect()
      try client.send("GET / HTTP/1.1\r\nHost: a\r\n")
      // Each byte in time, and never the end.
      var sent = 0
      while !client.isReadable(withinMilliseconds: 20), sent < 1_000 { sent += client.sendWithoutWaiting(Array("X".utf8)) ?? 1_000 }
      let answer = try client.readAnswer()
      #expect(try problem(in: answer).code == "request_timeout" && answer.status == 408)
      #expect(try timeouts(gate, "head") == 1)
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func aConnectionThatAsksForNothingIsClosedWithoutAWord() throws {
    try withProxy(listener: ["idle_timeout: 200ms"]) { gate, _ in
      let (fresh, served) = (try gate.connect(), try gate.connect())
      #expect(try served.exchange(Self.request).status == 200)
      #expect(try fresh.readToEnd().isEmpty && served.readToEnd().isEmpty)
      #expect(try timeouts(gate, "idle") == 2)
    }
  }

  @Test(arguments: ["/upload", "/attest/verify"])
  func aBodyThatTricklesIsCutOffThoughEachByteComesInTime(target: String) throws {
    try withProxy(listener: ["body_min_rate: 64KiB/s"]) { gate, upstream in
      let client = try gate.connect()
      try client.send("POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
      var sent = 0
      while !client.isReadable(withinMilliseconds: 20), sent < 2_000 { sent += client.sendWithoutWaiting(Array("x".utf8)) ?? 2_000 }
      let answer = try client.readAnswer()
      #expect(try problem(in: answer).code == "request_timeout" && answer.status == 408)
      #expect(try timeouts(gate, "body_rate") == 1 && timeouts(gate, "body") == 0)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aBodyThatTheUpstreamIsSlowToTakeIsNotTheClientsFault() throws {
    let size = 12_000_000
    try withProxy(
      script: { exchange in
        // Longer than the gate has patience with a client.
        sleep(6)
        try exchange.answer("\(exchange.readBody().count)")
      }, listener: ["body_min_rate: 1MiB/s"], routes: "- {path: \"/**\", upstream: api, gate: {mode: \"off\", max_body: 64MiB}}"
    ) { gate, _ in
      let client = try gate.connect()
      let sender = TestThread {
        try? client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
        try? client.send([UInt8](repeating: 0x78, count: size))
      }
      #expect(try client.readAnswer().text == "\(size)")
      sender.join()
      #expect(try timeouts(gate, "body_rate") == 0)
    }
  }

  @Test func aClientThatTakesNothingOfItsAnswerFreesTheUpstream() throws {
    try withProxy(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while true { try exchange.sendChunk(String(repeating: "data ", count: 1_000)) }
      }, listener: ["write_timeout: 300ms"]
    ) { gate, upstream in
      let client = try gate.connect(receiveBufferBytes: 4_096)
      try client.send(Self.request)
      let line = try gate.accessLog(count: 1)[0]
      #expect(line["status"] == "499")
      #expect(try timeouts(gate, "write") == 1)
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(throws: ConnectionReset.self) { try client.readToEnd() }
    }
  }

  @Test func aClientThatTakesItsAnswerTooSlowlyIsCutOffThoughItIsNeverStill() throws {
    try withProxy(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while true { try exchange.sendChunk(String(repeating: "data ", count: 1_000)) }
      }, listener: ["write_timeout: 2s", "write_min_rate: 1MiB/s"]
    ) { gate, upstream in
      let client = try gate.connect(receiveBufferBytes: 4_096)
      try client.send(Self.request)
      #expect(throws: ConnectionReset.self) {
        for _ in 0..<1_000 {
          guard try !client.readSome(atMost: 1_000).isEmpty else { return }
          usleep(20_000)
        }
      }
      let line = try gate.accessLog(count: 1)[0]
      #expect(line["status"] == "499" && line["detail"]?.contains("write_min_rate") == true)
      #expect(try timeouts(gate, "write_rate") == 1 && timeouts(gate, "write") == 0)
      #expect(eventually { upstream.openConnectionCount == 0 })
    }
  }

  @Test func aClientThatIsSlowButNotTooSlowIsServedHoweverRarelyTheKernelAsksForMore() throws {
    let size = 1_000_000
    try withProxy(
      script: { try $0.answer(String(repeating: "x", count: size)) }, listener: ["write_timeout: 2s", "write_min_rate: 1KiB/s"]
    ) { gate, _ in
      let client = try gate.connect(receiveBufferBytes: 4_096)
      try client.send(Self.request)
      // The kernel asks for more once some 64 KiB are gone, which takes longer than `write_timeout` here.
      var taken = 0
      for _ in 0..<100 {
        taken += try client.readSome(atMost: 800).count
        usleep(50_000)
      }
      while taken < size, case let more = try client.readSome().count, more > 0 { taken += more }
      #expect(taken > size)
      #expect(try timeouts(gate, "write_rate") == 0 && timeouts(gate, "write") == 0)
    }
  }

  @Test func anUpstreamThatSendsLittleIsNotTheClientsFault() throws {
    try withProxy(
      script: { exchange in
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in 0..<6 {
          try exchange.sendChunk("data: \(number)\n\n")
          usleep(200_000)
        }
        try exchange.sendChunk("")
      }, listener: ["write_timeout: 300ms", "write_min_rate: 1MiB/s"]
    ) { gate, _ in
      let client = try gate.connect()
      #expect(try client.exchange(Self.request).text.hasSuffix("data: 5\n\n"))
      #expect(try timeouts(gate, "write_rate") == 0 && timeouts(gate, "write") == 0)
    }
  }

  @Test func theRoutesTimeHoldsForTheWholeRequest() throws {
    let route = "- {path: \"/**\", upstream: api, gate: off, timeout: 300ms}"
    try withProxy(
      script: { exchange in
        if exchange.target == "/silent" { _ = exchange.waitForHangUp() }
        try exchange.answer("hello")
      }, routes: route
    ) { gate, _ in
      let silent = try exchange(port: gate.port, "GET /silent HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try problem(in: silent).code == "upstream_timeout" && silent.status == 504)
      #expect(try timeouts(gate, "request") == 1)
      let slow = try exchange(port: gate.port, "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
      #expect(try problem(in: slow).code == "request_timeout" && slow.status == 408)
      #expect(try timeouts(gate, "request") == 2)
    }
  }
}
