import Fixtures
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
}
