import Fixtures
import Glibc
import Testing

/// A gate that lets everything through to one scripted upstream: what the tests of the proxy itself need.
///
/// After the test's body it also holds that the gate stops in order, that it reported no inner failure, and that everything it sent
/// upstream was strict HTTP/1.1.
func withProxy(
  script: @escaping ScriptedUpstream.Script = { try $0.answer("hello") }, upstream options: String = "", listener: [String] = [],
  routes: String? = nil, workers: Int = 1, _ body: (GateProcess, ScriptedUpstream) throws -> Void
) throws {
  let upstream = try ScriptedUpstream(script)
  defer { upstream.stop() }
  let configuration = """
    store: {memory: {}}
    apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
    upstreams:
      api: {servers: ["http://127.0.0.1:\(upstream.port)"]\(options.isEmpty ? "" : ", ")\(options)}
    routes:
      \(routes ?? "- {path: \"/**\", upstream: api, gate: off}")

    """
  let gate = try GateProcess(configuration, listener: listener, workers: workers)
  defer { gate.process.kill() }
  try body(gate, upstream)
  #expect(gate.stop() == .exited(0), "the gate did not stop in order:\n\(gate.log)")
  #expect(!gate.log.contains("Fatal error"), "\(gate.log)")
  #expect(upstream.malformed.isEmpty, "the gate sent what is no strict HTTP/1.1: \(upstream.malformed)")
}
