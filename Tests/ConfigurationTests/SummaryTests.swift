import Configuration
import Foundation
import Testing

@Suite struct SummaryTests {
  static let text = """
    listeners: [{bind: "[::1]:8443"}]
    store: {redis: {url: "redis://user:hunter2@127.0.0.1/2"}}
    apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}, {team_id: ABCDE12345, bundle_id: com.example.two}]
    upstreams: {api: {servers: ["http://127.0.0.1:9000"], request_headers: {set: {Authorization: hunter2}}}}
    routes:
      - {path: /health, methods: [GET, POST], upstream: api, gate: off, allow_in_path: [semicolon]}
      - {path: /a/**, host: h, upstream: api, gate: {apps: [ABCDE12345.com.example.two], counter: {window: 8}, query: unbound}}
    """

  @Test func theSummaryShowsTheRoutesInTheirOrder() throws {
    let summary = ConfigurationSummary(try load(Self.text)).text
    #expect(
      summary == """
        listeners   [::1]:8443
        admin       none
        workers     3
        store       Redis at 127.0.0.1:6379, database 2
        access log  stdout
        endpoints   GET /attest/challenge, POST /attest/verify, GET /assert/challenge
        app         ABCDE12345.com.example.shop (production)
        app         ABCDE12345.com.example.two (production)
        upstream    api: http://127.0.0.1:9000

        #  HOST  PATH                 METHODS   UPSTREAM  GATE
        0  any   /health + semicolon  GET,POST  api       off
        1  h     /a/**                any       api       enforce, ABCDE12345.com.example.two, query unbound, counter window 8

        warning: proxy.yaml:7:115: routes[1].gate.query: lets a query through that nobody signed: whoever holds a request may change it

        """)
  }

  @Test func theReportIsJSONWithoutSecrets() throws {
    let data = try JSONEncoder().encode(ConfigurationReport(load(Self.text)))
    #expect(!String(decoding: data, as: UTF8.self).contains("hunter2"))
    let report = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(report["valid"] as? Bool == true)
    let routes = try #require(report["routes"] as? [[String: Any]])
    #expect(routes.map { $0["path"] as? String } == ["/health", "/a/**"])
    #expect((routes[1]["gate"] as? [String: Any])?["counter_window"] as? Int == 8)
    #expect((report["warnings"] as? [[String: Any]])?.first?["line"] as? Int == 7)
  }

  @Test func theReportOfAFailureHasItsProblems() throws {
    let problem = ConfigurationProblem(file: "f", line: 1, column: 2, path: "p", message: "m")
    let data = try JSONEncoder().encode(ConfigurationReport(file: "f", problems: [problem]))
    let report = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(report["valid"] as? Bool == false && (report["problems"] as? [[String: Any]])?.first?["message"] as? String == "m")
  }
}
