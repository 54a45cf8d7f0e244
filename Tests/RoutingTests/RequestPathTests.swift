import Bytes
import Testing

@testable import Routing

/// The normal form, or why there is none.
func normal(_ target: String) -> String { normal(Array(target.utf8)) }

func normal(_ target: [UInt8]) -> String {
  switch RequestPath.normalise(target.span) {
  case .ambiguous(let ambiguity): "\(ambiguity)"
  case .path(let path): String(decoding: Array(copying: path.normalForm(in: target.span)), as: UTF8.self)
  }
}

func path(_ target: String) -> RequestPath? {
  guard case .path(let path) = RequestPath.normalise(Array(target.utf8).span) else { return nil }
  return path
}

@Suite struct RequestPathTests {
  @Test(arguments: [
    ("/", "/"), ("/a", "/a"), ("/a/", "/a/"), ("/a/b.json", "/a/b.json"), ("/...", "/..."), ("/.well-known/x", "/.well-known/x"),
    ("/a!$&'()*+,=:@~_-.", "/a!$&'()*+,=:@~_-."), ("/%41%7e%2D%5f%2e%62", "/A~-_.b"), ("/caf%c3%a9", "/caf%C3%A9"),
    ("/%3a%2C", "/%3A%2C"), ("/caf\u{e9}", "/caf%C3%A9"), ("/\"<>^`{|}", "/%22%3C%3E%5E%60%7B%7C%7D"), ("/a%20b", "/a%20b"),
    ("/a%2fb", "/a%2Fb"), ("/a;b=1", "/a;b=1"), ("/a%3bb", "/a%3Bb"), ("/100%25", "/100%25"), ("/a?b=c", "/a"), ("/a?", "/a"),
    ("/a..b/..c/d..", "/a..b/..c/d.."), ("/a%3Fb", "/a%3Fb"), ("/a;x/", "/a;x/"), ("/%f0%9f%98%80", "/%F0%9F%98%80"),
  ])
  func aPathHasOneNormalForm(target: String, expected: String) {
    #expect(normal(target) == expected)
    #expect(normal(expected) == expected)
    #expect(path(expected)?.isVerbatim == true)
  }

  @Test(arguments: [
    ("", "notAbsolute"), ("a", "notAbsolute"), ("*", "notAbsolute"), ("?a", "notAbsolute"), ("%2fa", "notAbsolute"),
    ("/.", "dotSegment"), ("/..", "dotSegment"), ("/a/../b", "dotSegment"), ("/a/./b", "dotSegment"), ("/%2e%2E/b", "dotSegment"),
    ("/a/.%2e", "dotSegment"), ("/a/..;x/b", "dotSegment"), ("/a/..%3bx", "dotSegment"), ("/a/.;/b", "dotSegment"),
    ("/a/..%2fb", "dotSegment"), ("/a%2f..%2fb", "dotSegment"), ("/a/..%5cb", "dotSegment"), ("/a%5C..", "dotSegment"),
    ("/a/..%3fb", "dotSegment"), ("/a/.%23", "dotSegment"), ("/a/%2e.%253fb", "dotSegment"),
    ("/a/..?b", "dotSegment"), ("/a/%252e%252e/b", "dotSegment"), ("/a/%25%32%65.", "dotSegment"), ("/a/%25252e%252e", "dotSegment"),
    ("/a/..%252fb", "dotSegment"),
    ("//", "emptySegment"), ("//a", "emptySegment"), ("/a//b", "emptySegment"), ("/a//", "emptySegment"), ("/%2f", "emptySegment"),
    ("/a/%2fb", "emptySegment"), ("/a%2F/b", "emptySegment"), ("/a%2f%2fb", "emptySegment"), ("/a/%5cb", "emptySegment"),
    ("/;x/a", "emptySegment"), ("/a/;x", "emptySegment"), ("/a/%252fb", "emptySegment"), ("/a%252f%252fb", "emptySegment"),
    ("/a\u{0}", "control"), ("/a%00", "control"), ("/a%0d%0a", "control"), ("/a\tb", "control"), ("/a b", "control"),
    ("/a\u{7f}", "control"), ("/%7F", "control"), ("/%c2%85", "control"), ("/a%2500", "control"),
    ("/a\\b", "backslash"), ("/%", "invalidEscape"), ("/%4", "invalidEscape"), ("/%4g", "invalidEscape"), ("/%%36%36", "invalidEscape"),
    ("/a%?b", "invalidEscape"), ("/%u002e", "invalidEscape"), ("/%ff", "invalidUTF8"), ("/%c3", "invalidUTF8"), ("/%c3/%a9", "invalidUTF8"),
    ("/%c0%af", "invalidUTF8"), ("/%e0%80%af", "invalidUTF8"), ("/%ed%a0%80", "invalidUTF8"), ("/%f4%90%80%80", "invalidUTF8"),
    ("/%c3a", "invalidUTF8"), ("/%80", "invalidUTF8"), ("/%25c0%25af", "invalidUTF8"),
    ("/a#b", "fragment"), ("/a?b#c", "fragment"), ("/a?b c", "query"), ("/a?b\u{e9}", "query"), ("/a?\u{0}", "query"),
    ("/%2525252525252541", "nestedEscapes"),
  ])
  func anAmbiguousPathIsRefused(target: String, reason: String) {
    #expect(normal(target) == reason)
  }

  @Test func rawBytesThatAreNoUTF8AreRefused() {
    #expect(normal([0x2F, 0xFF]) == "invalidUTF8")
    #expect(normal([0x2F, 0xC3]) == "invalidUTF8")
    #expect(normal([0x2F, 0xC3, 0xA9]) == "/%C3%A9")
  }

  @Test(arguments: [
    ("/a", []), ("/a%2Fb", ["encoded_slash"]), ("/a%5cb", ["encoded_backslash"]), ("/a%25b", ["encoded_percent"]),
    ("/a;b", ["semicolon"]), ("/a%3Bb", ["semicolon"]), ("/a%252fb", ["encoded_slash", "encoded_percent"]),
    ("/a%25253b", ["encoded_percent", "semicolon"]), ("/a?%2f;%25", []),
    ("/a%3fb", ["encoded_delimiter"]), ("/a/%23", ["encoded_delimiter"]), ("/a%2523", ["encoded_percent", "encoded_delimiter"]),
    ("/a%2Fb%5cc%25d;e", ["encoded_slash", "encoded_backslash", "encoded_percent", "semicolon"]),
  ])
  func whatAnUpstreamMightReadOtherwiseIsNoted(target: String, names: [String]) {
    #expect(path(target)?.features.names == names)
  }

  @Test(arguments: [("/a", nil), ("/a?", nil), ("/a?b", "b"), ("/a??", "?"), ("/%41?b=%zz&c", "b=%zz&c"), ("/?a/../b", "a/../b")])
  func theQueryIsTakenAsItCame(target: String, query: String?) {
    let range = path(target)?.query
    #expect(range.map { String(target.utf8.dropFirst($0.start).prefix($0.count))! } == query)
  }

  @Test func theQuickScanJudgesAsTheFullOne() {
    var random = SeededGenerator(seed: 7)
    let letters = Array("/ab.?-~%;41".utf8)
    for _ in 0..<20_000 {
      let target = [UInt8(ascii: "/")] + (0..<Int.random(in: 0...8, using: &random)).map { _ in letters.randomElement(using: &random)! }
      var scanner = PathScanner()
      let ambiguity = scanner.scan(target.span)
      let output = scanner.isVerbatim ? Array(target[0..<scanner.end]) : scanner.output
      #expect(normal(target) == (ambiguity.map { "\($0)" } ?? String(decoding: output, as: UTF8.self)))
    }
  }

  @Test func characterClassesAreThoseOfRFC3986() {
    let unreserved = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
    let plain = unreserved.union("!$&'()*+,=:@".utf8)
    for byte in UInt8.min...UInt8.max {
      #expect(PathCharacter.isUnreserved(byte) == unreserved.contains(byte))
      #expect(PathCharacter.isPlain(byte) == plain.contains(byte))
    }
  }
}

/// The same numbers every time (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
