import Bytes
import Testing

@testable import Routing

func route(
  _ path: String, host: String? = nil, methods: [String] = [], allow: PathFeatures = [], gated: Bool = false
) -> RoutePattern {
  RoutePattern(host: host, path: try! PathPattern(path), methods: methods, allowedInPath: allow, gate: gated ? .enforce : .off)
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
    ("/a%3Fb", .encodedDelimiter), ("/a%23b", .encodedDelimiter),
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
    "/open/a%3fb", "/open/a%23", "/open/a%253f/b", "/open/a;b%3fc", "/OPEN/a;x", "/open%2fA", "/open/%2541%3fb",
  ])
  func whatARouteAllowsIsNoWayAroundAnothersGate(target: String) {
    let everything: PathFeatures = [.encodedSlash, .encodedBackslash, .encodedPercent, .semicolon, .encodedDelimiter]
    let routes = [route("/open/a", gated: true), route("/**", allow: everything)]
    #expect(Router(routes).match(target) == .readsOntoGatedRoute)
    #expect(Router([route("/open/a"), routes[1]]).match(target) == .route(1))
    #expect(Router(routes).match(target.lowercased().replacing("open", with: "free")) == .route(1))
  }
}

/// Readers that do not tell upper from lower case.
@Suite struct RouterCaseTests {
  @Test(arguments: [
    "/V1/orders", "/V%31/orders", "/V1", "/\u{ff36}1/orders", "/v\u{ff11}/o", "/KIOSK", "/\u{212a}iosk", "/kio\u{17f}k/",
    "/kiosK", "/k%C4%B1osk", "/k%C4%B0osk", "/CAF%C3%89/a", "/Caf\u{e9}/b", "/STRASSE", "/stra\u{1e9e}e",
  ])
  func whatAnUpstreamThatIgnoresCaseTakesForAGatedPathGoesThroughNoWildcard(target: String) {
    let gated = ["/v1/**", "/kiosk", "/caf\u{e9}/*", "/stra\u{df}e"].map { route($0, gated: true) }
    for wide in ["/**", "/*/**"] {
      #expect(Router(gated + [route(wide)]).match(target) == .readsOntoGatedRoute, "\(target) by \(wide)")
      // Without the gates it is an ordinary path.
      #expect(Router([route(wide)]).match(target) == .route(0))
    }
  }

  @Test func whatLooksLikeAGatedPathAndIsNoneGoesOn() {
    let router = Router([route("/v1/**", gated: true), route("/a/b", gated: true), route("/**")])
    for target in ["/V10", "/V", "/", "/A", "/A/B/c", "/A/Bc", "/x/V1", "/\u{fa}1", "/%C3%A9"] {
      #expect(router.match(target) == .route(2), "\(target)")
    }
  }

  /// What the operator wrote down is open, in the letters in which he wrote it.
  @Test func aRouteThatIsOpenByNameStaysOpen() {
    let router = Router([
      route("/v1/open/*"), route("/V1/catalogue"), route("/*/public"), route("/v1/**", gated: true), route("/**"),
    ])
    #expect(router.match("/v1/open/A") == .route(0))
    #expect(router.match("/V1/catalogue") == .route(1))
    // The order has decided.
    #expect(router.match("/v1/public") == .route(2))
    #expect(router.match("/V2/public") == .route(2))
    for target in ["/V1/public", "/V1/open/a", "/V1/Catalogue"] { #expect(router.match(target) == .readsOntoGatedRoute, "\(target)") }
    for target in ["/v1/OPEN/a", "/v1/catalogue"] { #expect(router.match(target) == .route(3), "\(target)") }
  }

  @Test func methodsAndHostsThatAGatedRouteDoesNotTakeAreNotItsPaths() {
    let gated = RoutePattern(host: "a", path: try! PathPattern("/v1/**"), methods: ["POST"], allowedInPath: [], gate: .enforce)
    let router = Router([gated, route("/**")])
    #expect(router.match("/V1/a", host: "a", method: "POST") == .readsOntoGatedRoute)
    #expect(router.match("/V1/a", host: "a", method: "GET") == .route(1))
    #expect(router.match("/V1/a", host: "b", method: "POST") == .route(1))
  }

  @Test func aMonitoredRouteIsNoWayAroundAnEnforcedOne() {
    func routes(_ first: RouteGate, _ second: RouteGate) -> Router {
      Router(
        [("/v1/**", first), ("/**", second)].map {
          RoutePattern(host: nil, path: try! PathPattern($0.0), methods: [], allowedInPath: [], gate: $0.1)
        })
    }
    #expect(routes(.enforce, .monitor).match("/V1/a") == .readsOntoGatedRoute)
    #expect(routes(.monitor, .off).match("/V1/a") == .readsOntoGatedRoute)
    for gates in [(RouteGate.enforce, RouteGate.enforce), (.monitor, .enforce), (.monitor, .monitor), (.off, .off), (.off, .monitor)] {
      #expect(routes(gates.0, gates.1).match("/V1/a") == .route(1))
    }
  }

  @Test(arguments: [
    ("/V1/open", "/v1/**", true), ("/v1/open", "/v1/**", false), ("/**", "/v1/**", false), ("/V1/*", "/v1/open", false),
    ("/CAF\u{c9}", "/caf\u{e9}", true), ("/V2/open", "/v1/**", false), ("/x", "/**", false),
  ])
  func aNameInOtherLettersIsNoticed(open: String, gated: String, expected: Bool) {
    #expect(route(open).isWrittenLike(route(gated, gated: true)) == expected)
    #expect(!route(gated, gated: true).isWrittenLike(route(open)))
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
