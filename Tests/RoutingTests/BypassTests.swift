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

  /// Every combination of decoding, parameters, slash merging before and after dot removal, and backslashes.
  static func readings(_ path: String) -> Set<[String]> {
    var texts: Set<String> = [path]
    for _ in 0..<3 { texts.formUnion(texts.map(decoded)) }
    texts.formUnion(texts.map { $0.replacing("\\", with: "/") })
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
  static let everything: PathFeatures = [.encodedSlash, .encodedBackslash, .encodedPercent, .semicolon]
  static let routes = [
    route("/v1/open/*", allow: .semicolon), route("/v1/**", gated: true), route("/admin", gated: true),
    route("/public/admin/**", gated: true),
    route("/public/**", allow: everything), route("/health"), route("/files/*/raw", allow: .encodedSlash),
  ]
  static let gatedPrefixes = [["v1"], ["admin"], ["public", "admin"]]

  static func isGated(_ segments: [String]) -> Bool { gatedPrefixes.contains { segments.starts(with: $0) } }

  static let pieces = [
    "/", "/", "/", "/", "v1", "v1", "V1", "admin", "admin", "Admin", "public", "public", "open", "files", "raw", "health", "a", ".", "..",
    "%2e", "%2E%2e",
    "%252e", "%2f", "%2F", "%252f", "%5c", "\\", "%255c", ";", ";x", "%3b", "%253b=1", "%61dmin", "%2561dmin", "v%31", "//", "%00", "%",
    "%25", "%c3%a9",
    "/public/", "/v1/open/", "/..", "/../", "/..;/", "/.;x/", "?", "%3f",
  ]

  /// Segments as the target has them, escapes of unreserved characters aside: what the request literally asks for.
  func literalSegments(_ target: String) -> [String] {
    target.prefix { $0 != "?" }.split(separator: "/").map(String.init)
  }

  @Test func nothingThatSomebodyReadsAsGatedComesThroughAnOpenRoute() {
    var random = SeededGenerator(seed: 20_260_401)
    let router = Router(Self.routes)
    var passed = 0
    for _ in 0..<100_000 {
      let beginning = ["/", "/public/", "/public/", "/v1/open/", "/files/"].randomElement(using: &random)!
      let target = beginning + (0..<Int.random(in: 1...7, using: &random)).map { _ in Self.pieces.randomElement(using: &random)! }.joined()
      guard case .route(let index)? = router.match(target), !Self.routes[index].isGated else { continue }
      passed += 1
      let path = String(target.prefix { $0 != "?" })
      let literal = literalSegments(target)
      // `/v1/open/*` is open by name.
      if literal.starts(with: ["v1", "open"]) && literal.count == 3 { continue }
      let readings = Reader.readings(path)
      #expect(!readings.contains(where: Self.isGated), "\(target) is taken by route \(index)")
      // Only what literally is `/public/**` may lead to a gated path in other letters: `check` warns of that overlap.
      let folded = readings.contains { Self.isGated($0.map { $0.lowercased() }) }
      #expect(!folded || literal.first == "public", "\(target) is taken by route \(index)")
    }
    #expect(passed > 5_000)
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
