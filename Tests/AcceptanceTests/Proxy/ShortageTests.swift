import Fixtures
import Foundation
import Glibc
import Testing

/// A gate that runs out of what the kernel gives.
@Suite struct ShortageTests {
  static let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func aGateWithFewDescriptorsStopsAcceptingAndServesOn() throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let configuration = """
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """
    let gate = try GateProcess(configuration, workers: 2, descriptorMax: 128)
    defer { gate.process.kill() }
    let clients = try (0..<150).map { _ in try gate.connect() }
    for client in clients { try client.send(Self.request) }
    #expect(eventually { (try? gate.metric("attestgate_accept_pauses_total", ["reason": "descriptors"])) ?? 0 >= 1 })
    // Whoever was let in is served while nobody else is, and health checks are answered: descriptors are left for both.
    let served = clients.filter { $0.isReadable(withinMilliseconds: 20) }
    #expect(served.count > 10 && served.count < 60)
    for client in served { #expect(try client.readAnswer().status == 200) }
    for client in served { #expect(try client.exchange(Self.request).status == 200) }
    for _ in 0..<20 { #expect(try gate.admin("/healthz").status == 200) }
    #expect(gate.process.openFileCount < 128)
    // The others have only waited: each gets its answer as places come free.
    for client in served { client.close() }
    for client in clients where !served.contains(where: { $0 === client }) {
      #expect(try client.readAnswer().status == 200)
      client.close()
    }
    #expect(try gate.admin("/healthz").status == 200)
    #expect(try exchange(port: gate.port, Self.request).status == 200)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
  }

  // MARK: Memory

  private func withShortMemory(
    _ limit: String, addressSpaceMax: Int? = nil, _ body: (GateProcess) throws -> Void
  ) throws {
    let upstream = try ScriptedUpstream()
    defer { upstream.stop() }
    let configuration = """
      \(limit)
      store: {memory: {}}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {api: {servers: ["http://127.0.0.1:\(upstream.port)"]}}
      routes: [{path: "/**", upstream: api, gate: off}]

      """
    let gate = try GateProcess(
      configuration, listener: ["limits: {head_bytes: 1MiB}", "head_timeout: 60s"], workers: 2, addressSpaceMax: addressSpaceMax)
    defer { gate.process.kill() }
    try body(gate)
    #expect(gate.stop() == .exited(0), "\(gate.log)")
    #expect(!gate.log.contains("Fatal error"), "\(gate.log)")
  }

  /// Heads that do not end, one after the other, until the gate feels so much pressure; false when that never comes.
  private func fill(_ gate: GateProcess, _ clients: [RawConnection], until pressure: Double) throws -> Bool {
    let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
    for client in clients {
      try client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Fill: ")
      try client.send(part)
      usleep(30_000)
      if try gate.metric("attestgate_memory_pressure") ?? 0 >= pressure { return true }
    }
    return eventually { (try? gate.metric("attestgate_memory_pressure")) ?? 0 >= pressure }
  }

  /// By the configuration's bound, and by one of the system's (`ulimit -v`).
  @Test(arguments: [("memory_limit: 96MiB", nil), ("memory_limit: auto", 240_000)] as [(String, Int?)])
  func aGateWithLittleMemoryStopsAcceptingAndServesOn(limit: String, addressSpaceMax: Int?) throws {
    try withShortMemory(limit, addressSpaceMax: addressSpaceMax) { gate in
      let fat = try (0..<120).map { _ in try gate.connect() }
      let honest = try (0..<4).map { _ in try gate.connect() }
      for client in honest { #expect(try client.exchange(Self.request).status == 200) }
      #expect(try gate.metric("attestgate_memory_pressure") == 0)
      if addressSpaceMax == nil { #expect(try gate.metric("attestgate_memory_limit_bytes") == 100_663_296) }
      #expect(try fill(gate, fat, until: 1), "\(gate.log)")
      // Whoever comes now waits, and whoever is there is served.
      let late = try gate.connect()
      try late.send(Self.request)
      #expect(eventually { (try? gate.metric("attestgate_accept_pauses_total", ["reason": "memory"])) ?? 0 >= 1 })
      #expect(!late.isReadable(withinMilliseconds: 300))
      for client in honest { #expect(try client.exchange(Self.request).status == 200) }
      #expect(gate.log.contains("no connections are accepted"))
      // When memory is free again so are the doors.
      for client in fat { client.close() }
      #expect(try late.readAnswer().status == 200)
      #expect(eventually { (try? gate.metric("attestgate_memory_pressure")) == 0 }, "\(gate.log)")
      #expect(gate.log.contains("connections are accepted again"))
      #expect(try exchange(port: gate.port, Self.request).status == 200)
    }
  }

  @Test func aGateWithNearlyNoMemoryRefusesWhatItIsAsked() throws {
    try withShortMemory("memory_limit: 96MiB") { gate in
      let fat = try (0..<120).map { _ in try gate.connect() }
      let honest = try gate.connect()
      #expect(try honest.exchange(Self.request).status == 200)
      #expect(try fill(gate, fat, until: 2), "\(gate.log)")
      let refused = try honest.exchange(Self.request)
      #expect(try problem(in: refused).code == "overloaded" && refused.status == 503 && refused.value("Retry-After") != nil)
      #expect(try honest.endsNow())
      for client in fat { client.close() }
      #expect(eventually { (try? exchange(port: gate.port, Self.request).status) == 200 }, "\(gate.log)")
    }
  }

  @Test func noBurstOfHeadsUsesUpTheAddressSpace() throws {
    try withShortMemory("memory_limit: auto", addressSpaceMax: 240_000) { gate in
      let fat = try (0..<240).map { _ in try gate.connect() }
      let part = Array("GET / HTTP/1.1\r\nHost: a\r\nX-Fill: ".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
      // Twice as much as there is room for, as fast as it goes.
      var left = fat.map { (client: $0, rest: part[...]) }
      let end = Date().addingTimeInterval(5)
      while !left.isEmpty, Date() < end {
        for index in left.indices {
          guard let count = left[index].client.sendWithoutWaiting(Array(left[index].rest.prefix(100_000))) else { continue }
          left[index].rest.removeFirst(count)
        }
        left.removeAll { $0.rest.isEmpty || $0.client.isReadable(withinMilliseconds: 0) }
      }
      #expect(try gate.admin("/healthz").status == 200)
      for client in fat { client.close() }
      #expect(eventually { (try? exchange(port: gate.port, Self.request).status) == 200 }, "\(gate.log)")
    }
  }
}
