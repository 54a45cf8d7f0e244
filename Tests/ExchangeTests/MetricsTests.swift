import Fixtures
import Gate
import Testing

@testable import Exchange

@Suite struct MetricsTests {
  @Test func requestsAreCountedByRouteMethodAndStatus() async throws {
    try await TestGate.run({ $0.routes = [try .open("/a"), try .route("/gated") { _ in }] }) { gate, _ in
      for _ in 0..<3 { _ = try gate.exchange("GET /a HTTP/1.1\r\nHost: a\r\n\r\n") }
      _ = try gate.exchange("BREW /a HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try gate.exchange("GET /gated HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try gate.exchange("GET /none HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try gate.exchange("nonsense\r\n\r\n")
      _ = try gate.exchange("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n")
      _ = try gate.log(count: 8)
      let family = "attestgate_requests_total"
      #expect(gate.counts(3, family, ["route": "/a", "method": "GET", "code": "200"]))
      #expect(gate.counts(1, family, ["route": "/a", "method": "other", "code": "200"]))
      #expect(gate.counts(1, family, ["route": "/gated", "method": "GET", "code": "401"]))
      #expect(gate.counts(1, family, ["route": "none", "method": "GET", "code": "404"]))
      #expect(gate.counts(1, family, ["route": "none", "method": "other", "code": "400"]))
      #expect(gate.counts(1, family, ["route": "endpoints", "method": "GET", "code": "200"]))
      #expect(gate.counts(8, "attestgate_request_duration_seconds"))
      #expect(gate.counts(4, "attestgate_upstream_duration_seconds", ["upstream": "api"]))
      let decision = ["route": "/gated", "mode": "enforce", "decision": "refused", "reason": "assertion_missing", "class": "no_assertion"]
      #expect(gate.counts(1, "attestgate_gate_decisions_total", decision))
      #expect(gate.counts(1, "attestgate_gate_decisions_total"))
      #expect(gate.counts(1, "attestgate_upstream_connections", ["state": "idle"]))
    }
  }

  @Test func aVerifiedRequestIsCountedAndWhatItAskedOfTheStore() async throws {
    let app = try TestApp()
    try await TestGate.run({ site in
      site.routes = [try .route("/**") { _ in }]
      app.admit(to: &site)
    }) { gate, _ in
      #expect(try app.enroll(at: gate).status == 200)
      let request = try app.request("GET", "/v1", body: [], at: gate)
      for expected in [200, 409] {
        let client = try gate.connect()
        try client.send(request)
        #expect(try client.readAnswer().status == expected)
      }
      let family = "attestgate_gate_decisions_total"
      #expect(gate.counts(1, family, ["decision": "verified", "class": "verified", "reason": ""]))
      #expect(gate.counts(1, family, ["decision": "refused", "class": "replayed", "reason": "assertion_already_accepted"]))
      #expect(gate.counts(2, "attestgate_store_duration_seconds", ["command": "commit"]))
      #expect(gate.counts(1, "attestgate_store_up"))
    }
  }
}
