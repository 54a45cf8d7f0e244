import Bytes
import Testing

@testable import Routing

/// Readers that an upstream may be, written without regard to the code under test: each takes a target's path for a list of segments.
enum Reader {
  static func decoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func withoutParameters(_ text: String) -> String {
    text.split(separator: "/", omittingEmptySubsequences: false).map { $0.prefix { $0 != ";" } }.joined(separator: "/")
  }

  static func upToDelimiter(_ text: String) -> String { String(text.prefix { $0 != "?" && $0 != "#" }) }

  /// As file systems and frameworks fold names that ignore case.
  static func folded(_ segment: String) -> Set<String> {
    let common = segment.unicodeScalars.map { 0xFF01...0xFF5E ~= $0.value ? Unicode.Scalar($0.value - 0xFEE0)! : $0 }
    var wide = ""
    wide.unicodeScalars.append(contentsOf: common)
    return [segment, segment.lowercased(), segment.uppercased().lowercased(), wide.lowercased()]
  }

  /// Every combination of decoding, parameters, slash merging before and after dot removal, and backslashes.
  static func readings(_ path: String) -> Set<[String]> {
    var texts: Set<String> = [path]
    for _ in 0..<3 { texts.formUnion(texts.map(decoded)) }
    texts.formUnion(texts.map { $0.replacing("\\", with: "/") })
    texts.formUnion(texts.map(upToDelimiter))
    texts.formUnion(texts.map(withoutParameters))
    var readings: Set<[String]> = []
    for text in texts {
      for merges in [false, true] {
        var segments: [String] = []
        for segment in text.split(separator: "/", omittingEmptySubsequences: merges).dropFirst(merges ? 0 : 1) {
          if segment == "." { continue }
          if segment == ".." { _ = segments.popLast() } else { segments.append(String(segment)) }
        }
        segments = merges ? segments : segments.filter { !$0.isEmpty }
        readings.insert(segments)
      }
    }
    return readings
  }
}

@Suite struct BypassTests {
  static let everything: PathFeatures = [.encodedSlash, .encodedBackslash, .encodedPercent, .semicolon, .encodedDelimiter]
  static let routes = [
    route("/v1/open/*", allow: .semicolon), route("/v1/**", gated: true), route("/admin", gated: true),
    route("/public/admin/**", gated: true),
    route("/public/**", allow: everything), route("/health"), route("/files/*/raw", allow: .encodedSlash),
    route("/kiosk/*", gated: true), route("/caf\u{e9}", gated: true), route("/**"),
  ]

  /// What lies on a gated route for whoever does not tell upper from lower case. `/admin` and `/café` gate one path, `/kiosk/*` one level.
  static func isGated(_ segments: [String]) -> Bool {
    let forms = segments.prefix(2).map(Reader.folded)
    guard let first = forms.first else { return false }
    if first.contains("v1") { return true }
    if segments.count == 1 { return first.contains("admin") || first.contains("caf\u{e9}") }
    return first.contains("public") && forms[1].contains("admin") || segments.count == 2 && first.contains("kiosk")
  }

  static let pieces = [
    "/", "/", "/", "/", "v1", "v1", "V1", "admin", "admin", "Admin", "public", "public", "open", "files", "raw", "health", "a", ".", "..",
    "%2e", "%2E%2e",
    "%252e", "%2f", "%2F", "%252f", "%5c", "\\", "%255c", ";", ";x", "%3b", "%253b=1", "%61dmin", "%2561dmin", "v%31", "//", "%00", "%",
    "%25", "%c3%a9",
    "/public/", "/v1/open/", "/..", "/../", "/..;/", "/.;x/", "?", "%3f", "%23", "%253F",
    "ADMIN", "aDm%49n", "adm%c4%b1n", "/kiosk", "/Kiosk", "/%e2%84%aaiosk", "/kio%c5%bfk", "CAF%C3%89", "caf%c3%a9", "%ef%bc%b61",
    "/PUBLIC/",
  ]

  /// Segments as the target has them, escapes of unreserved characters aside: what the request literally asks for.
  func literalSegments(_ target: String) -> [String] {
    target.prefix { $0 != "?" }.split(separator: "/").map(String.init)
  }

  @Test func nothingThatSomebodyReadsAsGatedComesThroughAnOpenRoute() {
    var random = SeededGenerator(seed: 20_260_401)
    let router = Router(Self.routes)
    var passed = 0
    var passedByTheLastRoute = 0
    for _ in 0..<100_000 {
      let beginning = ["/", "/", "/public/", "/public/", "/v1/open/", "/files/"].randomElement(using: &random)!
      let target = beginning + (0..<Int.random(in: 1...7, using: &random)).map { _ in Self.pieces.randomElement(using: &random)! }.joined()
      guard case .route(let index)? = router.match(target), !Self.routes[index].isGated else { continue }
      passed += 1
      if index == Self.routes.count - 1 { passedByTheLastRoute += 1 }
      let path = String(target.prefix { $0 != "?" })
      let literal = literalSegments(target)
      // `/v1/open/*` is open by name.
      if literal.starts(with: ["v1", "open"]) && literal.count == 3 { continue }
      let readings = Reader.readings(path)
      #expect(!readings.contains(where: Self.isGated), "\(target) is taken by route \(index)")
    }
    #expect(passed > 5_000 && passedByTheLastRoute > 2_000, "\(passed), \(passedByTheLastRoute)")
  }

  @Test func whatDecodesAlikeTakesOneRoute() {
    var random = SeededGenerator(seed: 3)
    let router = Router([route("/a:b/*"), route("/caf\u{e9}"), route("/x/**"), route("/*")])
    let targets = ["/a:b/c", "/caf\u{e9}", "/x/a,b", "/q$"]
    for _ in 0..<2_000 {
      let target = targets.randomElement(using: &random)!
      let escaped = Array(target.utf8).map { byte in
        byte != UInt8(ascii: "/") && Bool.random(using: &random)
          ? "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: .random(using: &random))
          : String(decoding: [byte], as: UTF8.self)
      }
      // A character cut in two by the escapes is no text any more.
      guard Array(target.utf8).allSatisfy({ $0 < 0x80 }) else { continue }
      #expect(router.match(escaped.joined()) == router.match(target))
    }
  }
}
