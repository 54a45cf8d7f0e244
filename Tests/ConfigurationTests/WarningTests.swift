import Configuration
import Fixtures
import Testing

@Suite struct WarningTests {
  static func routes(_ routes: String...) -> String {
    sound("routes: \n" + routes.map { "  - {upstream: orders, \($0)}" }.joined(separator: "\n"))
  }

  @Test(arguments: [
    (routes("path: /a/**"), []),
    (routes("path: /a/**", "path: /a/b"), ["6:30: routes[1].path: can never match: routes[0] before it take every such request"]),
    (
      routes("path: /a, methods: [GET]", "path: /a, methods: [POST]", "path: /a, methods: [HEAD, POST]"),
      ["7:30: routes[2].path: can never match: routes[0], routes[1] before it take every such request"]
    ),
    (
      routes("path: /assert/challenge, gate: off"),
      ["5:30: routes[0].path: can never match: the gate answers /assert/challenge itself, before any route"]
    ),
    (routes("path: /v1/**", "path: /**, gate: off"), []),
    (
      routes("path: /V1/open, gate: off", "path: /v1/**"),
      [
        "5:30: routes[0].path: is gated less than routes[1], which has its name in other letters (/v1/**): an upstream that ignores case "
          + "serves both; write them alike, or gate both"
      ]
    ),
    (routes("path: /v1/**, host: a", "path: /v1/x, gate: off, host: b"), []),
    (routes("path: /v1/**, methods: [POST]", "path: /v1/**, methods: [GET], gate: off"), []),
    (routes("path: /v1/open, gate: off", "path: /v1/**"), []),
    (
      routes("path: /a, methods: [POST], gate: {client_data: body}"),
      [
        "5:71: routes[0].gate.client_data: is the weaker profile: no challenge, method, path or query is signed, and the counter alone stops replay"
      ]
    ),
    (
      routes("path: /a, gate: {query: unbound}"),
      ["5:48: routes[0].gate.query: lets a query through that nobody signed: whoever holds a request may change it"]
    ),
    (
      routes("path: /a, gate: {bind: [method, path]}"),
      ["5:47: routes[0].gate.bind: does not name body: whoever holds a request may change it, or add one"]
    ),
    (
      routes("path: /a, gate: {max_body: 10MiB}"),
      [
        "5:51: routes[0].gate.max_body: allows large bodies under a strict counter: a slow upload that was signed early commits after later "
          + "requests and is refused; write counter: {window: 64}"
      ]
    ),
    (routes("path: /a, gate: {max_body: 10MiB, counter: {window: 4}}"), []),
    (
      sound("admin: {bind: \"0.0.0.0:9901\"}"),
      ["5:15: admin.bind: is not loopback: metrics and health are open to the network"]
    ),
    (
      sound("listeners: [{bind: \"[::]:80\"}]"),
      [
        "5:20: listeners[0].bind: serves gated routes without TLS beyond this machine: whoever listens in can read them; "
          + "give the listener tls, or put a TLS terminator before it"
      ]
    ),
    (
      sound("listeners: [{bind: \"10.0.0.2:80\"}]", "routes: [{path: /a, upstream: orders, gate: off}]"),
      [
        "5:20: listeners[0].bind: is a private address, so that a proxy is likely before it, and trusted_proxies is empty: "
          + "what it says of its clients is replaced, and they all count as one; list it there"
      ]
    ),
    (
      sound("listeners: [{bind: \"unix:/run/a\"}]"),
      [
        "5:20: listeners[0].bind: is a Unix socket, so that a proxy is before it, and trusted_proxies is empty: "
          + "what it says of its clients is replaced, and they all count as one; list it there"
      ]
    ),
    (sound("listeners: [{bind: \"unix:/run/a\", trusted_proxies: [unix]}, {trusted_proxies: [127.0.0.1]}]"), []),
    (
      sound("listeners: [{trusted_proxies: [\"::/0\"]}]"),
      ["5:32: listeners[0].trusted_proxies[0]: trusts every peer: whoever connects may say who he is; list your proxies alone"]
    ),
    (sound("listeners: [{bind: \"[::]:80\"}]", "routes: [{path: /a, upstream: orders, gate: off}]"), []),
    (
      sound("apps: [{team_id: ABC, bundle_id: a.b}]"),
      ["2:18: apps[0].team_id: is not in Apple's form, which is 10 characters A to Z and 0 to 9"]
    ),
    (
      sound("apps: [{team_id: ABCDE12345, bundle_id: a.b, environments: [production, simulated]}]"),
      ["2:60: apps[0].environments: allows simulated, but only chains to a private root are that; add one to trust_roots"]
    ),
  ])
  func whatMayNotBeMeantIsSaid(text: String, expected: [String]) throws {
    #expect(try warnings(text) == expected)
  }

  @Test func aPrivateRootIsNotForProduction() throws {
    let folder = try folderWithRoot()
    let text = sound("apps: [{team_id: ABCDE12345, bundle_id: a.b, trust_roots: [root.pem]}]")
    #expect(
      try warnings(text, file: folder.file("proxy.yaml")) == [
        "2:8: apps[0].environments: does not allow simulated, which every key under a private root is: none can enrol",
        "2:8: apps[0].environments: allows Apple's environments, but trust_roots does not name apple",
        "2:60: apps[0].trust_roots[0]: is a private root (CN=Test Authority): whoever holds its key can make devices; not for production",
      ])
  }
}
