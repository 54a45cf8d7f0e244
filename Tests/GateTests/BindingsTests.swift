import Bytes
import Cryptography
import HTTP
import Testing

@testable import Gate

@Suite struct BindingsTests {
  private static func facts(
    method: String = "GET", normalPath: String = "/v1/a", rawPath: String? = nil, query: String? = nil, host: String = "h.example",
    defaultPort: UInt16 = 443
  ) -> SentRequest {
    SentRequest(
      method: Array(method.utf8), normalPath: Array(normalPath.utf8), rawPath: Array((rawPath ?? normalPath).utf8),
      query: query.map { Array($0.utf8) }, host: Array(host.utf8), defaultPort: defaultPort, assertion: .absent, clientData: .absent,
      keyID: .absent, body: .none)
  }

  /// Client data as an app writes it.
  private static func clientData(
    method: String? = nil, path: String? = nil, query: String? = nil, host: String? = nil, body: SHA256Digest? = nil
  ) -> [UInt8] {
    var json = ByteQueue()
    for (name, value) in [
      ("method", method), ("path", path), ("query", query), ("host", host), ("bodySHA256", body.map { Base64.encode($0.span) }),
    ] {
      guard let value else { continue }
      json.append(json.isEmpty ? "{" : ",")
      JSONText.append(Array(name.utf8).span, to: &json)
      json.append(":")
      JSONText.append(Array(value.utf8).span, to: &json)
    }
    json.append(json.isEmpty ? "{}" : "}")
    return json.copied()
  }

  private static func policy(_ binding: GatePolicy.Binding, _ change: (inout GatePolicy) -> Void = { _ in }) -> GatePolicy {
    var policy = GatePolicy()
    policy.binding = binding
    change(&policy)
    return policy
  }

  private static func code(_ json: [UInt8], _ request: SentRequest, _ policy: GatePolicy = policy([])) -> ProblemCode? {
    guard let clientData = try? ClientData(json: json.span) else { return .clientDataMalformed }
    return request.withFacts { Bindings.compare(clientData, in: json.span, with: $0, under: SharedPolicy(policy))?.code }
  }

  @Test func aBoundMemberThatIsMissingIsAMismatch() {
    let facts = Self.facts()
    #expect(Self.code(Self.clientData(), facts, Self.policy(.method)) == .methodMismatch)
    #expect(Self.code(Self.clientData(), facts, Self.policy(.path)) == .pathMismatch)
    #expect(Self.code(Self.clientData(), facts, Self.policy(.host)) == .hostMismatch)
    #expect(Self.code(Self.clientData(), facts, Self.policy(.body)) == .bodyMismatch)
    #expect(Self.code(Self.clientData(), facts, Self.policy([])) == nil)
  }

  @Test func aMemberThatIsPresentIsComparedThoughTheRouteDoesNotBindIt() {
    let facts = Self.facts(query: "a=1")
    let policy = Self.policy([]) { $0.bindsQuery = false }
    #expect(Self.code(Self.clientData(method: "POST"), facts, policy) == .methodMismatch)
    #expect(Self.code(Self.clientData(path: "/v1/b"), facts, policy) == .pathMismatch)
    #expect(Self.code(Self.clientData(host: "other.example"), facts, policy) == .hostMismatch)
    #expect(Self.code(Self.clientData(query: "a=2"), facts, policy) == .queryMismatch)
    #expect(Self.code(Self.clientData(method: "GET", path: "/v1/a", query: "a=1", host: "h.example"), facts, policy) == nil)
  }

  @Test func theMethodIsComparedWithItsCase() {
    #expect(Self.code(Self.clientData(method: "get"), Self.facts()) == .methodMismatch)
    #expect(Self.code(Self.clientData(method: ""), Self.facts()) == .methodMismatch)
  }

  @Test(arguments: [
    ("/", "/"), ("/", ""), ("/v1/a", "/v1/a"), ("/v1/a/", "/v1/a"),
    // As URL.path gives it: decoded, + is itself.
    ("/caf%C3%A9", "/café"), ("/a+b", "/a+b"), ("/a%20b", "/a b"), ("/a%2Bb", "/a+b"), ("/100%25", "/100%"), ("/%F0%9F%98%80/", "/😀"),
    ("/a%3Bb", "/a;b"),
  ])
  func theDecodedPathMatches(normalPath: String, path: String) {
    #expect(Self.isDecodedPath(path, of: normalPath))
  }

  @Test(arguments: [
    ("/v1/a", "/v1/a/"), ("/v1/a/", "/v1/a/"), ("/v1/a", "v1/a"), ("/v1/a", ""), ("/v1/a", "/v1/A"), ("/v1/a", "/v1/ab"),
    ("/v1/ab", "/v1/a"),
    ("/caf%C3%A9", "/caf%C3%A9"), ("/a%20b", "/a+b"), ("/a+b", "/a b"),
    // No Unicode normalisation: e and a combining acute are another path.
    ("/caf%C3%A9", "/cafe\u{301}"),
    // Decoded once, not twice.
    ("/%2541", "/A"), ("/", "//"), ("/", "/a"), ("/a", "/a\u{0}"),
  ])
  func anyOtherPathDoesNot(normalPath: String, path: String) {
    #expect(!Self.isDecodedPath(path, of: normalPath))
  }

  private static func isDecodedPath(_ path: String, of normalPath: String) -> Bool {
    Bindings.isDecodedPath(JSONStringBytes(Array(path.utf8).span), of: Array(normalPath.utf8).span)
  }

  @Test func theEncodedFormIsTheRawTargetPathAndNothingElse() {
    let policy = Self.policy(.path) { $0.pathForm = .encoded }
    let facts = Self.facts(normalPath: "/caf%C3%A9/a", rawPath: "/caf%c3%a9/%61")
    #expect(Self.code(Self.clientData(path: "/caf%c3%a9/%61"), facts, policy) == nil)
    for other in ["/caf%C3%A9/a", "/café/a", "/caf%c3%a9/%61/"] {
      #expect(Self.code(Self.clientData(path: other), facts, policy) == .pathMismatch)
    }
    #expect(Self.code(Self.clientData(path: "/caf%c3%a9/%61"), facts, Self.policy(.path)) == .pathMismatch)
  }

  @Test(
    arguments: [
      (nil, nil, nil), (nil, "", nil), ("", nil, nil), ("", "", nil), ("a=1", "a=1", nil),
      ("a=1", nil, .queryUnbound), ("a=1", "", .queryMismatch), ("a=1", "a=2", .queryMismatch), ("a=1&b=2", "b=2&a=1", .queryMismatch),
      ("a=%41", "a=A", .queryMismatch), (nil, "a=1", .queryMismatch), ("", "a=1", .queryMismatch), ("a", "?a", .queryMismatch),
    ] as [(String?, String?, ProblemCode?)])
  func aQueryIsBoundAsItWasSent(sent: String?, signed: String?, code: ProblemCode?) {
    #expect(Self.code(Self.clientData(query: signed), Self.facts(query: sent)) == code)
  }

  @Test func onlyTheRouteCanAdmitAQueryThatIsNotSigned() {
    let policy = Self.policy([]) { $0.bindsQuery = false }
    #expect(Self.code(Self.clientData(), Self.facts(query: "a=1"), policy) == nil)
  }

  @Test(
    arguments: [
      ("h.example", 443, "h.example"), ("H.Example", 443, "h.example"), ("h.example:443", 443, "h.example"),
      ("h.example:80", 80, "h.example"),
      ("h.example:443", 80, "h.example:443"), ("h.example:8443", 443, "h.example:8443"), ("h.example:", 443, "h.example"),
      ("[::1]", 443, "[::1]"), ("[::1]:443", 443, "[::1]"), ("[::1]:8443", 443, "[::1]:8443"), ("[2001:DB8::443]", 443, "[2001:db8::443]"),
      ("h.example:0443", 443, "h.example:0443"),
    ] as [(String, UInt16, String)])
  func theHostIsInLowerCaseWithoutADefaultPort(sent: String, defaultPort: UInt16, signed: String) {
    let facts = Self.facts(host: sent, defaultPort: defaultPort)
    #expect(Self.code(Self.clientData(host: signed), facts, Self.policy(.host)) == nil)
    #expect(Self.code(Self.clientData(host: signed + "."), facts, Self.policy(.host)) == .hostMismatch)
  }
}
