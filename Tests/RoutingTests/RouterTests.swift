import Bytes
import Testing

@testable import Routing

func route(
  _ path: String, host: String? = nil, methods: [String] = [], allow: PathFeatures = [], gated: Bool = false
) -> RoutePattern {
  RoutePattern(host: host, path: try! PathPattern(path), methods: methods, allowedInPath: allow, isGated: gated)
}

extension Router {
  func match(_ target: String, host: String = "h", method: String = "GET") -> RouteMatch? {
    let bytes = Array(target.utf8)
    guard case .path(let path) = RequestPath.normalise(bytes.span) else { return nil }
    return match(host: Array(host.utf8).span, path: path, target: bytes.span, method: Array(method.utf8).span)
  }
}

@Suite struct RouterTests {
  @Test(arguments: [
    ("/v1/**", "/v1", true), ("/v1/**", "/v1/", true), ("/v1/**", "/v1/a", true), ("/v1/**", "/v1/a/b/", true), ("/v1/**", "/v10", false),
    ("/v1/**", "/v", false), ("/v1/**", "/", false), ("/v1/**", "/V1/a", false), ("/v1/**", "/a/v1", false),
    ("/v1", "/v1", true), ("/v1", "/v1/", true), ("/v1/", "/v1", true), ("/v1", "/v1/a", false),
    ("/", "/", true), ("/", "/a", false), ("/**", "/", true), ("/**", "/a/b", true),
    ("/*", "/a", true), ("/*", "/a/", true), ("/*", "/", false), ("/*", "/a/b", false),
    ("/a/*/c", "/a/b/c", true), ("/a/*/c", "/a/b/c/", true), ("/a/*/c", "/a/b/cd", false), ("/a/*/c", "/a/c", false),
    ("/a/*/c", "/a/b/d/c", false), ("/a/*/c/**", "/a/b/c/d/e", true), ("/a/*/**", "/a", false), ("/a/*/**", "/a/b", true),
    ("/*/*", "/a/b", true), ("/*/*", "/a", false), ("/*/b", "/a/b", true), ("/*/b", "/a/c", false),
    ("/a/b/c/d/e/f", "/a/b/c/d/e/f", true), ("/a/b/c/d/e/f", "/a/b/c/d/e/g", false), ("/longer-than-eight", "/longer-than-night", false),
    ("/caf\u{e9}/x", "/caf%c3%a9/x", true), ("/caf%C3%A9/x", "/caf%c3%a9/x", true), ("/a b", "/a%20b", true), ("/a%20b", "/a%20b", true),
    ("/a:b", "/a%3Ab", true), ("/a%3ab", "/a:b", true), ("/%61", "/a", true), ("/a%2ab", "/a*b", true), ("/%2a", "/*", true),
    ("/%2a", "/x", false), ("/a/*", "/a/%41", true),
  ])
  func aPatternMatchesWholeSegments(pattern: String, target: String, expected: Bool) throws {
    let pattern = pattern == "/a b" ? "/a%20b" : pattern
    #expect(Router([route(pattern)]).match(target) == (expected ? .route(0) : RouteMatch.none))
  }

  @Test(arguments: [
    ("v1", PathPatternFailure.notAbsolute), ("", .notAbsolute), ("/a*", .partialWildcard), ("/a/***", .partialWildcard),
    ("/**/a", .restNotLast),
    ("/a/**/", .restNotLast), ("/**/**", .restNotLast), ("/a?b", .query), ("/a/../b", .ambiguous(.dotSegment)),
    ("/a//b", .ambiguous(.emptySegment)),
    ("/a%", .ambiguous(.invalidEscape)), ("/a#b", .ambiguous(.fragment)), ("/a b", .ambiguous(.control)),
  ])
  func whatCouldNeverMatchIsNoPattern(text: String, failure: PathPatternFailure) {
    #expect(throws: failure) { try PathPattern(text) }
    #expect(!failure.message.isEmpty)
  }

  @Test func theFirstRouteWins() {
    let router = Router([route("/a/b"), route("/a/*"), route("/a/**"), route("/**")])
    #expect(["/a/b", "/a/c", "/a", "/b", "/a/b/c"].map { router.match($0) } == [.route(0), .route(1), .route(2), .route(3), .route(2)])
  }

  @Test(arguments: [
    ("api.example.com", 0), ("API.Example.COM", 0), ("api.example.com:443", 0), ("api.example.com:", 0), ("api.example.com.", 0),
    ("api.example.com.:8080", 0), ("xapi.example.com", 2), ("api.example.com.evil.org", 2), ("api.example.comx", 2), ("", 2), ("[::1]", 1),
    ("[::1]:8080", 1),
    ("[::1]1", 2), ("api.example.com:44x", 2), ("..", 2), (".", 2), (":", 2), ("10", 2),
  ])
  func hostsAreComparedWithoutCasePortAndFinalDot(host: String, index: Int) {
    let router = Router([route("/**", host: "Api.example.com."), route("/**", host: "[::1]"), route("/**")])
    #expect(router.match("/a", host: host) == .route(index))
  }

  @Test func aPathThatMatchesWithAnotherMethodGoesOn() {
    let router = Router([route("/a", methods: ["POST"]), route("/*", methods: ["GET", "PURGE"]), route("/b")])
    #expect(router.match("/a", method: "POST") == .route(0))
    #expect(router.match("/a", method: "GET") == .route(1))
    #expect(router.match("/a", method: "PURGE") == .route(1))
    #expect(router.match("/a", method: "DELETE") == .methodNotAllowed(allow: "POST, GET, PURGE, HEAD"))
    #expect(router.match("/b", method: "DELETE") == .route(2))
    #expect(router.match("/c/d", method: "GET") == RouteMatch.none)
    // Methods are case-sensitive (RFC 9110 section 9.1).
    #expect(router.match("/a", method: "post") == .methodNotAllowed(allow: "POST, GET, PURGE, HEAD"))
  }

  @Test func getTakesHeadAndHeadDoesNotTakeGet() {
    let router = Router([route("/get", methods: ["GET"]), route("/head", methods: ["HEAD"])])
    #expect(router.match("/get", method: "HEAD") == .route(0))
    #expect(router.match("/head", method: "GET") == .methodNotAllowed(allow: "HEAD"))
  }

  @Test func longMethodNamesAreToldApart() {
    let router = Router([route("/", methods: ["VERSION-CONTROL"]), route("/", methods: ["BASELINE-CONTROL"])])
    #expect(router.match("/", method: "BASELINE-CONTROL") == .route(1))
    #expect(router.match("/", method: "BASELINE-CONTROLS") == .methodNotAllowed(allow: "VERSION-CONTROL, BASELINE-CONTROL"))
    #expect(router.match("/", method: "") == .methodNotAllowed(allow: "VERSION-CONTROL, BASELINE-CONTROL"))
  }

  @Test(arguments: [
    ("/a%2Fb", PathFeatures.encodedSlash), ("/a%5Cb", .encodedBackslash), ("/a%25b", .encodedPercent), ("/a;b", .semicolon),
  ])
  func aRouteMustAllowWhatThePathHolds(target: String, feature: PathFeatures) {
    #expect(Router([route("/**")]).match(target) == .refusedFeature(feature))
    #expect(Router([route("/**", allow: feature)]).match(target) == .route(0))
    #expect(Router([route("/**", gated: true)]).match(target) == .refusedFeature(feature))
  }

  @Test func anEncodedSlashSeparatesNoSegments() {
    let router = Router([
      route("/a/*", allow: .encodedSlash), route("/a%2Fb/c", allow: .encodedSlash), route("/a/b/c", allow: .encodedSlash),
    ])
    #expect(router.match("/a/b%2fc") == .route(0))
    #expect(router.match("/a%2fb/c") == .route(1))
    #expect(router.match("/a/b/c") == .route(2))
  }

  @Test(arguments: [
    "/open/a;x", "/open%2fa", "/open%5Ca", "/open%252Fa", "/open/a%3b", "/open/a%253bx", "/open/%2561", "/open;y/a;x/", "/open/a;b%2fc",
  ])
  func whatARouteAllowsIsNoWayAroundAnothersGate(target: String) {
    let everything: PathFeatures = [.encodedSlash, .encodedBackslash, .encodedPercent, .semicolon]
    let routes = [route("/open/a", gated: true), route("/**", allow: everything)]
    #expect(Router(routes).match(target) == .readsOntoGatedRoute)
    #expect(Router([route("/open/a"), routes[1]]).match(target) == .route(1))
    #expect(Router(routes).match(target.replacing("open", with: "free")) == .route(1))
  }
}

@Suite struct PatternCoverageTests {
  @Test(arguments: [
    ("/**", "/a", true), ("/**", "/", true), ("/**", "/a/**", true), ("/a/**", "/a", true), ("/a/**", "/a/*/c", true),
    ("/a/**", "/b", false),
    ("/a/**", "/**", false), ("/a/*", "/a/b", true), ("/a/*", "/a/**", false), ("/a/b", "/a/*", false), ("/a", "/a/", true),
    ("/*", "/", false),
    ("/*/**", "/a", true), ("/*/**", "/**", false), ("/%61", "/a", true), ("/A", "/a", false),
  ])
  func aPatternThatTakesAllOfAnotherCoversIt(pattern: String, other: String, expected: Bool) throws {
    #expect(try PathPattern(pattern).covers(PathPattern(other)) == expected)
  }

  @Test func hostAndMethodsCountForCoverage() {
    #expect(route("/a", host: "h", methods: ["GET"]).isCovered(by: [route("/**")]))
    #expect(!route("/a").isCovered(by: [route("/**", host: "h")]))
    #expect(route("/a", host: "H.").isCovered(by: [route("/**", host: "h")]))
    #expect(!route("/a").isCovered(by: [route("/**", methods: ["GET"])]))
    #expect(route("/a", methods: ["HEAD"]).isCovered(by: [route("/**", methods: ["GET"])]))
    #expect(!route("/a", methods: ["GET", "POST"]).isCovered(by: [route("/**", methods: ["GET"])]))
    #expect(
      route("/a", methods: ["GET", "POST"]).isCovered(by: [route("/**", methods: ["GET"]), route("/b"), route("/*", methods: ["POST"])]))
    #expect(!route("/a").isCovered(by: []))
  }

  @Test(arguments: [
    ("/**", "/a/b", true), ("/GATED/*", "/gated/a", true), ("/a/**", "/b/**", false), ("/*/x", "/a/*", true), ("/*", "/a/b", false),
    ("/a/**", "/a", true),
    ("/a/b/**", "/a", false), ("/a/b", "/a/**", true), ("/", "/**", true),
  ])
  func patternsThatMayTakeOnePathOverlap(left: String, right: String, expected: Bool) throws {
    #expect(try PathPattern(left).overlapsIgnoringCase(PathPattern(right)) == expected)
    #expect(try PathPattern(right).overlapsIgnoringCase(PathPattern(left)) == expected)
  }
}
