import Fixtures
import Foundation
import HTTP
import Testing

/// What the documents say is so.
@Suite struct DocumentationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let readme = try! text("README.md")

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// Every Swift file under a folder, by its path.
  private static func sources(_ folder: String) throws -> [String: String] {
    let base = root.appending(path: folder)
    let paths = try FileManager.default.subpathsOfDirectory(atPath: base.path).filter { $0.hasSuffix(".swift") }
    return try Dictionary(uniqueKeysWithValues: paths.map { ("\(folder)/\($0)", try text("\(folder)/\($0)")) })
  }

  /// The inside of every fenced block of a language.
  private static func blocks(_ language: String, in text: String) -> [String] {
    text.components(separatedBy: "\n```\(language)\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] + "\n" }
  }

  private static func matches(_ pattern: String, in text: String) -> [[String]] {
    let expression = try! NSRegularExpression(pattern: pattern)
    return expression.matches(in: text, range: NSRange(text.startIndex..., in: text)).map { match in
      (0..<match.numberOfRanges).map { Range(match.range(at: $0), in: text).map { String(text[$0]) } ?? "" }
    }
  }

  @Test func theTableOfCodesIsTheOneOfTheGate() {
    let expected = ProblemCode.allCases.map { "| `\($0.rawValue)` | \($0.status) | `\($0.recovery.rawValue)` | \($0.title) |" }
    let rows = Self.readme.split(separator: "\n").map(String.init).filter { $0.wholeMatch(of: /\| `[a-z_]+` \| \d{3} \| .*/) != nil }
    #expect(rows == expected)
  }

  @Test func everyRecoveryIsExplained() throws {
    let contract = try Self.text("docs/wire.md")
    for recovery in Set(ProblemCode.allCases.map(\.recovery.rawValue)) { #expect(contract.contains("\n| `\(recovery)` | "), "\(recovery)") }
  }

  /// Keys are read by `section.value("key")` and its like.
  @Test func everyKeyOfTheConfigurationIsInTheReadme() throws {
    let written = try Self.sources("Sources/7-Run/Configuration/Written")
    var keys: Set<String> = []
    for source in written.values {
      for match in Self.matches(#"\.(?:value|list|section|sections|wordOrSection)\("([a-z_]+)""#, in: source) { keys.insert(match[1]) }
    }
    #expect(keys.count > 50)
    let tables = Self.readme.split(separator: "\n").filter { $0.hasPrefix("| `") || $0.contains("{window:") }.joined(separator: "\n")
    for key in keys.sorted() where !["challenges", "endpoints", "limits", "pool", "headers", "admin"].contains(key) {
      #expect(!Self.matches("(?<![a-z_])\(key)(?![a-z_])", in: tables).isEmpty, "\(key)")
    }
  }

  @Test func everyMetricIsInTheReadmeAndNoOther() throws {
    let sources = try Self.sources("Sources")
    let families = sources.values.flatMap { source in
      Self.matches(#"MetricFamily\(\s*"(attestgate_[a-z_]+)""#, in: source).map { $0[1] }
    }
    let described = Self.matches(#"\n\| `(attestgate_[a-z_]+)` \|"#, in: Self.readme).map { $0[1] }
    #expect(Set(families) == Set(described))
  }

  @Test func everyMemberOfTheAccessLogIsInTheReadme() throws {
    let log = try Self.text("Sources/6-Exchange/Exchange/AccessLog.swift")
    let members = Set(Self.matches(#"\\"([a-z_]+)\\":"#, in: log).map { $0[1] })
    #expect(members.count > 15)
    let rows = Self.readme.split(separator: "\n").filter { $0.hasPrefix("| `") }.joined(separator: "\n")
    for member in members { #expect(rows.contains("`\(member)`"), "\(member)") }
  }

  @Test func theExampleConfigurationsAreInTheReadmeAndCheckOut() throws {
    for name in ["legacy-api", "paid-api"] {
      let example = try Self.text("docs/examples/\(name).yaml")
      #expect(Self.blocks("yaml", in: Self.readme).contains(example), "\(name)")
      let file = Self.root.appending(path: "docs/examples/\(name).yaml").path
      let run = try CommandRun([GateProcess.binary, "check", file], environment: ["REDIS_PASSWORD": "p", "MODEL_API_KEY": "k"])
      #expect(run.succeeded, "\(run.errors)")
      #expect(!run.text.contains("warning"), "\(run.text)")
    }
  }

  /// Blocks of `console` hold one command and all that it prints.
  @Test func theExamplesPrintWhatTheReadmeShows() throws {
    let blocks = Self.blocks("console", in: Self.readme)
    #expect(blocks.count >= 4)
    let folder = URL(filePath: GateProcess.binary).deletingLastPathComponent().path
    let path = "\(folder):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
    for block in blocks {
      let lines = block.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
      let command = String(try #require(lines.first).dropFirst(2))
      let run = try CommandRun(["sh", "-c", "cd '\(Self.root.path)' && { \(command); } 2>&1"], environment: ["PATH": path])
      #expect(run.text == lines[1], "\(command)")
    }
  }

  @Test func theClientOfTheReadmeIsThatOfTheFile() throws {
    let squeezed = { (text: String) in text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    let client = squeezed(try Self.text("docs/client/AttestedClient.swift"))
    let signing = try #require(Self.blocks("swift", in: Self.readme).first { $0.contains("generateAssertion") })
    #expect(client.contains(squeezed(signing)))
  }

  /// `Type.function` is a member of a type, or of an extension of it, in Sources.
  @Test(arguments: ["docs/life-of-a-request.md", "docs/design.md", "docs/threat-model.md"])
  func everyFunctionThatADocumentNamesIsThere(document: String) throws {
    let sources = try Self.sources("Sources").values
    let text = try Self.text(document)
    let names = Self.matches(#"(?<![\w/.])([A-Z]\w+)\.(?!swift\b)([a-z]\w+)"#, in: text)
    #expect(!names.isEmpty)
    for name in names {
      let homes = sources.filter { !Self.matches("(?:class|struct|enum|actor|protocol|extension) \(name[1])\\b", in: $0).isEmpty }
      let isThere = homes.contains { !Self.matches("(?:func|let|var|case) \(name[2])\\b", in: $0).isEmpty }
      #expect(isThere, "\(name[0])")
    }
    for type in Self.matches("`([A-Z][A-Za-z0-9]+)`", in: text).map({ $0[1] }) {
      let isThere = sources.contains { !Self.matches("(?:class|struct|enum|actor|protocol) \(type)\\b", in: $0).isEmpty }
      #expect(isThere || Self.foreignNames.contains(type), "\(type)")
    }
  }

  /// A claim rests on a test: what stands in code and is too long for anything else is the name of one.
  @Test(arguments: [("docs/threat-model.md", 40), ("docs/limits.md", 30)])
  func everyTestThatADocumentNamesIsThere(document: String, fewest: Int) throws {
    let tests = try Self.sources("Tests").values.joined()
    let there = Set(Self.matches(#"func ([a-z]\w+)\("#, in: tests).map { $0[1] })
    let named = Self.matches("`([a-z][A-Za-z0-9]{15,})`", in: try Self.text(document)).map { $0[1] }
    #expect(named.count > fewest)
    for name in named { #expect(there.contains(name), "\(name)") }
  }

  /// Of the language and of HTTP; a module, and a suite of tests.
  private static let foreignNames: Set = [
    "Span", "String", "Data", "Dictionary", "Sendable", "Connection", "NonisolatedNonsendingByDefault", "Cryptography", "ProofTypesTests",
    "EVALSHA", "Authorization", "Cookie",
  ]

  /// Comments refer to the documents by their names, and to sections by their headings.
  @Test func everyDocumentThatTheSourcesNameIsThere() throws {
    let sources = try Self.sources("Sources").merging(Self.sources("Tests")) { $1 }
    for (file, source) in sources {
      for match in Self.matches(#"(?<![\w/.-])([a-z]+)\.md(?:, "([^"]+)")?"#, in: source) {
        let document = try? Self.text("docs/\(match[1]).md")
        #expect(document?.contains(match[2].isEmpty ? "# " : "# \(match[2])") == true, "\(file): \(match[0])")
      }
    }
  }

  /// Links to files and to headings of the README.
  @Test(arguments: [
    "README.md", "docs/wire.md", "docs/config.md", "docs/store.md", "docs/design.md", "docs/life-of-a-request.md", "docs/security.md",
    "docs/threat-model.md", "docs/limits.md",
  ])
  func everyLinkLeadsSomewhere(document: String) throws {
    let headings = Self.matches("(?m)^#+ (.+)$", in: Self.readme).map { heading in
      heading[1].lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }.replacing(" ", with: "-")
    }
    let folder = Self.root.appending(path: document).deletingLastPathComponent()
    for link in Self.matches(#"\]\(([^)]+)\)"#, in: try Self.text(document)).map({ $0[1] }) {
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if !parts[0].isEmpty { #expect(FileManager.default.fileExists(atPath: folder.appending(path: parts[0]).path), "\(link)") }
      if parts.count == 2 { #expect(headings.contains(parts[1]), "\(link)") }
    }
  }
}
