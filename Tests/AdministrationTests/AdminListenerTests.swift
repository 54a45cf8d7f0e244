import EventLoop
import Exchange
import Fixtures
import Foundation
import Gate
import Store
import Telemetry
import Testing

@testable import Administration

/// Health and metrics over loopback, before one worker without routes.
@Suite struct AdminListenerTests {
  private static func run(
    beforeIt connect: (_ port: UInt16) throws -> Void = { _ in },
    _ body: (_ admin: AdminListener, _ port: UInt16, _ worker: Worker) async throws -> Void
  ) async throws {
    let worker = try makeWorker()
    await worker.start([])
    let process = MetricRegistry()
    process.gauge(MetricFamily("attestgate_build_info", .gauge, "Build."), [MetricLabel("version", "1")]).set(1)
    let admin = AdminListener(workers: [worker], process: process, needsStore: true)
    let listener = try ListeningSocket(SocketAddress(host: "127.0.0.1", port: 0)!)
    try connect(listener.address.port)
    await admin.start(listener)
    let result: Result<Void, any Error>
    do { result = .success(try await body(admin, listener.address.port, worker)) } catch { result = .failure(error) }
    await worker.drain(until: Instant.now)
    worker.loop.stop()
    admin.loop.stop()
    try result.get()
  }

  /// A worker without listeners and routes.
  static func makeWorker() throws -> Worker {
    let log = try LogWriter(.off)
    let site = Site(listeners: [], routes: [], upstreams: [], gate: GateSettings(apps: []))
    let services = WorkerServices(
      upstreams: [], verifier: BackgroundThread(name: "verifier", queueMax: 1), accessLog: log,
      diagnostics: Diagnostics(log), limits: SharedLimits())
    return Worker(number: 0, site: site, services: services) { _ in MemoryStoreClient(MemoryStore()) }
  }

  private static func get(_ path: String, port: UInt16) throws -> RawMessage {
    try exchange(port: port, "GET \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n")
  }

  @Test func livenessIsNotReadiness() async throws {
    try await Self.run { admin, port, _ in
      #expect(try Self.get("/healthz", port: port).status == 200)
      let starting = try Self.get("/readyz", port: port)
      #expect(starting.status == 503)
      #expect(starting.text == "{\"ready\":false,\"state\":\"starting\",\"store\":\"up\"}\n")
      admin.enter(.serving)
      let serving = try Self.get("/readyz?verbose", port: port)
      #expect(serving.status == 200)
      #expect(serving.value("Content-Type") == "application/json")
      #expect(serving.text == "{\"ready\":true,\"state\":\"serving\",\"store\":\"up\"}\n")
      admin.enter(.draining)
      #expect(try Self.get("/readyz", port: port).status == 503)
      #expect(try Self.get("/healthz", port: port).status == 200)
    }
  }

  @Test func metricsAreThoseOfTheWorkersAndOfTheProcess() async throws {
    try await Self.run { _, port, worker in
      worker.metrics.counter(MetricFamily("attestgate_test_total", .counter, "Test.")).add(7)
      let answer = try Self.get("/metrics", port: port)
      #expect(answer.value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
      let lines = answer.text.split(separator: "\n").map(String.init)
      #expect(lines.contains("attestgate_test_total 7"))
      #expect(lines.contains("attestgate_build_info{version=\"1\"} 1"))
      #expect(lines.contains("attestgate_connections 0"))
      for name in ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_start_time_seconds"] {
        let value = lines.first { $0.hasPrefix("\(name) ") }.flatMap { Double($0.dropFirst(name.count + 1)) }
        #expect(value ?? 0 > 0, "\(name)")
      }
    }
  }

  @Test(arguments: [
    ("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 405), ("DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 404), ("GET /metrics/ HTTP/1.1\r\nHost: a\r\n\r\n", 404),
    ("GET /healthz HTTP/1.1\r\n\r\n", 400), ("GET /healthz\r\n\r\n", 400),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nBad Field: b\r\n\r\n", 400),
  ])
  func anythingElseIsRefused(request: String, status: Int) async throws {
    try await Self.run { _, port, _ in
      let answer = try exchange(port: port, request)
      #expect(answer.status == status)
    }
  }

  @Test func severalQuestionsGoOverOneConnection() async throws {
    try await Self.run { _, port, _ in
      let client = try RawConnection(port: port)
      try client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(try client.readAnswer().text == "ok\n")
      #expect(try client.readAnswer(to: "HEAD").status == 200)
      #expect(try client.exchange("GET /healthz HTTP/1.0\r\n\r\n").text == "ok\n")
      #expect(try client.endsNow())
    }
  }

  @Test func aCrowdThatComesAtOnceIsTaken() async throws {
    var crowd: [RawConnection] = []
    try await Self.run(beforeIt: { port in
      for _ in 0..<3 * AdminListener.connectionsMax { crowd.append(try RawConnection(port: port)) }
    }) { admin, port, _ in
      #expect(try Self.get("/healthz", port: port).status == 200)
      #expect(try crowd[crowd.count - 1].exchange("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
      #expect(try crowd[0].endsNow())
      let more = try (0..<3 * AdminListener.connectionsMax).map { _ in try RawConnection(port: port) }
      await admin.stopAccepting()
      #expect(try more[more.count - 1].exchange("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
    }
  }

  @Test func aHealthCheckThatComesWhileAnotherProcessTakesOverFindsTheServiceReady() async throws {
    try await Self.run { admin, port, _ in
      admin.enter(.serving)
      let request = "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"
      let client = try RawConnection(port: port)
      #expect(try client.exchange(request).value("Connection") == nil)
      await admin.stopAccepting()
      let answer = try client.exchange(request)
      #expect(answer.status == 200 && answer.value("Connection") == "close")
      #expect(try client.endsNow())
    }
  }

  @Test func whoeverHoldsAllPlacesKeepsNoHealthCheckOut() async throws {
    try await Self.run { _, port, _ in
      let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
      let clients = try (0..<AdminListener.connectionsMax).map { _ in try RawConnection(port: port) }
      // The first has asked, half of the others have begun to.
      #expect(try clients[0].exchange(request).status == 200)
      for client in clients.dropFirst(AdminListener.connectionsMax / 2) { try client.send("GET /healthz HT") }
      #expect(try clients[0].exchange(request).status == 200)
      #expect(try Self.get("/healthz", port: port).status == 200)
      // Whoever was silent longest made the place.
      #expect(try clients[1].endsNow())
      #expect(try clients[0].exchange(request).status == 200)
      #expect(try clients[2].exchange(request).status == 200)
    }
  }
}
