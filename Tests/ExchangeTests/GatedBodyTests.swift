import EventLoop
import Fixtures
import Gate
import HTTP
import Testing

@testable import Exchange

/// Bodies that the gate reads before the upstream does: in memory, in a file, too large, and without a disk.
@Suite struct GatedBodyTests {
  private static let body = pattern(300_000)

  private static func policy(_ mode: GatePolicy.Mode, max: Int, memory: Int) -> @Sendable (inout GatePolicy) -> Void {
    {
      $0.mode = mode
      $0.bodyBytesMax = max
      $0.bodyMemoryBytes = memory
    }
  }

  /// Sends the body, signed, in chunks or with a length; plays one route that is made so.
  private static func play(
    _ policy: @Sendable (inout GatePolicy) -> Void, chunkBytes: Int? = nil, folder: String? = nil,
    script: @escaping ScriptedUpstream.Script = { try $0.answer("hello") },
    _ check: (RawMessage, TestGate, ScriptedUpstream) throws -> Void
  ) async throws {
    let app = try TestApp()
    try await TestGate.run(
      script: script,
      { site in
        site.routes = [try .route("/**", policy)]
        if let folder { site.temporaryFolder = folder }
        app.admit(to: &site)
      }
    ) { gate, upstream in
      #expect(try app.enroll(at: gate).status == 200)
      let client = try gate.connect()
      try client.send(app.request("POST", "/v1", body: body, chunkBytes: chunkBytes, at: gate))
      try check(client.readAnswer(to: "POST"), gate, upstream)
    }
  }

  @Test(arguments: [(1 << 20, nil), (1 << 20, 1_000), (10_000, nil), (10_000, 100_000)] as [(Int, Int?)])
  func aVerifiedBodyArrivesWholeFromMemoryOrFile(memory: Int, chunkBytes: Int?) async throws {
    try await Self.play(Self.policy(.enforce, max: 1 << 20, memory: memory), chunkBytes: chunkBytes) { answer, _, upstream in
      #expect(answer.status == 200)
      let request = try #require(upstream.requests.first?.message)
      #expect(request.body == Self.body)
      #expect(request.value("Content-Length") == "300000")
      #expect(request.value("X-App-Attest-Status") == "verified")
    }
  }

  @Test(arguments: [(MemoryPressure.none, 0), (.high, 1)])
  func aBodyGoesToAFileEarlierWhenMemoryIsShort(pressure: MemoryPressure, files: Int) async throws {
    let app = try TestApp()
    try await TestGate.run(
      memory: MemoryWatch(pressure: pressure),
      { site in
        site.routes = [try .route("/**", Self.policy(.enforce, max: 1 << 20, memory: 1 << 20))]
        app.admit(to: &site)
      }
    ) { gate, upstream in
      #expect(try app.enroll(at: gate).status == 200)
      // One connection after the other: beside it no other is taken when memory is short.
      let request = try app.request("POST", "/v1", body: Self.body, at: gate)
      let client = try gate.connect()
      try client.send(Array(request.dropLast()))
      #expect(files == 0 || eventually { gate.temporaryFileCount == files })
      try client.send(Array(request.suffix(1)))
      #expect(try client.readAnswer().status == 200)
      #expect(upstream.requests.first?.message.body == Self.body)
    }
  }

  @Test func nothingIsBegunWhenThereIsNoMemory() async throws {
    try await TestGate.run(memory: MemoryWatch(pressure: .critical)) { gate, upstream in
      let whole = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let begun = try gate.exchange("GET / HTTP/1.1\r\nHost: a\r\n")
      #expect([whole, begun].map(\.status) == [503, 503] && whole.value("Retry-After") != nil)
      #expect(upstream.requests.isEmpty)
      #expect(try gate.log(count: 2).allSatisfy { $0.members["code"] as? String == "overloaded" })
    }
  }

  @Test func aStoredBodyIsGivenBackBeforeItsAnswerEnds() async throws {
    let app = try TestApp()
    let mayEnd = Latch()
    try await TestGate.run(
      script: { exchange in
        try exchange.readBody()
        try exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try exchange.sendChunk("begin")
        mayEnd.wait()
        try exchange.sendChunk("")
        try exchange.send("\r\n")
      },
      { site in
        site.routes = [try .route("/**", Self.policy(.enforce, max: 1 << 20, memory: 1_000))]
        app.admit(to: &site)
      }
    ) { gate, _ in
      #expect(try app.enroll(at: gate).status == 200)
      let client = try gate.connect()
      let request = try app.request("POST", "/v1", body: Self.body, at: gate)
      try client.send(Array(request.dropLast()))
      #expect(eventually { gate.temporaryFileCount == 1 })
      try client.send(Array(request.suffix(1)))
      #expect(try client.readAnswerHead().status == 200)
      #expect(eventually { gate.temporaryFileCount == 0 })
      mayEnd.open()
    }
  }

  @Test func aLargeBodyInMemoryIsSentOnThoughTheUpstreamHintsBeforeItReads() async throws {
    try await Self.play(
      Self.policy(.enforce, max: 1 << 20, memory: 1 << 20),
      script: { exchange in
        exchange.connection.limitReceiveBuffer(4_096)
        try exchange.send("HTTP/1.1 103 Early Hints\r\n\r\n")
        try exchange.answer("hello")
      }
    ) { answer, _, upstream in
      #expect(answer.interim.map(\.status) == [103])
      #expect(answer.text == "hello")
      #expect(upstream.requests.first?.message.body == Self.body)
    }
  }

  /// The part that was read lies in memory, in a file, or in both; the rest comes with it or behind it.
  @Test(arguments: [(200_000, 1 << 20), (200_000, 1_000), (1, 1 << 20), (1, 1), (299_999, 100_000)], [1_000, 70_000, 300_000])
  func aMonitoredBodyOverTheLimitArrivesWhole(limits: (max: Int, memory: Int), chunkBytes: Int) async throws {
    try await Self.play(Self.policy(.monitor, max: limits.max, memory: limits.memory), chunkBytes: chunkBytes) { answer, gate, upstream in
      #expect(answer.status == 200)
      let request = try #require(upstream.requests.first?.message)
      let isWhole = request.body == Self.body
      #expect(isWhole)
      #expect(request.value("X-App-Attest-Status") == "unverified")
      #expect(request.value("X-App-Attest-Reason") == "body_too_large")
      #expect(gate.counts(1, "attestgate_gate_decisions_total", ["decision": "unverified", "reason": "body_too_large"]))
    }
  }

  @Test(arguments: [nil, 1_000] as [Int?])
  func aMonitoredBodyThatCannotBeStoredArrivesWhole(chunkBytes: Int?) async throws {
    try await Self.play(
      Self.policy(.monitor, max: 1 << 20, memory: 1_000), chunkBytes: chunkBytes, folder: "/nonexistent/folder"
    ) { answer, _, upstream in
      #expect(answer.status == 200)
      let request = try #require(upstream.requests.first?.message)
      let isWhole = request.body == Self.body
      #expect(isWhole)
      #expect(request.value("X-App-Attest-Reason") == "overloaded")
    }
  }

  @Test func anEnforcedBodyThatCannotBeStoredIs503AndReachesNobody() async throws {
    try await Self.play(
      Self.policy(.enforce, max: 1 << 20, memory: 1_000), folder: "/nonexistent/folder"
    ) { answer, gate, upstream in
      #expect(answer.status == 503)
      #expect(answer.value("Retry-After") == "1")
      #expect(code(in: answer) == "overloaded")
      #expect(upstream.requests.isEmpty)
      #expect(gate.counts(1, "attestgate_gate_decisions_total", ["decision": "refused", "reason": "overloaded"]))
    }
  }

  @Test func anEnforcedChunkedBodyOverTheLimitIs413() async throws {
    try await Self.play(Self.policy(.enforce, max: 200_000, memory: 1_000), chunkBytes: 10_000) { answer, _, upstream in
      #expect(answer.status == 413)
      #expect(code(in: answer) == "body_too_large")
      #expect(upstream.requests.isEmpty)
    }
  }

  @Test func aStreamedBodyOverTheLimitIs413AndTheUpstreamGetsNoEnd() async throws {
    let app = try TestApp()
    try await TestGate.run(
      script: { try $0.readBody() },
      { site in
        site.routes = [
          try .route("/**") {
            $0.binding = [.method, .path]
            $0.bodyBytesMax = 1_000
          }
        ]
        app.admit(to: &site)
      }
    ) { gate, upstream in
      #expect(try app.enroll(at: gate).status == 200)
      // Signed without a digest of the body, as this route permits.
      let challenge = try gate.exchange("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n").text
      let fields = app.signWithoutBody("POST", "/v1", challenge: challenge)
      let client = try gate.connect()
      try client.send("POST /v1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n")
      try client.send(chunked([UInt8](repeating: 0x78, count: 2_000), 100))
      let answer = try client.readAnswer(to: "POST")
      #expect(answer.status == 413)
      #expect(eventually { upstream.openConnectionCount == 0 })
      #expect(upstream.requests.allSatisfy { !$0.isComplete })
    }
  }
}
