import Fixtures
import Foundation

/// One case of the corpus as its file has it: keys and bytes, not yet judged by anybody.
///
/// A file of the corpus begins with keys that hold for all of its cases. `= name` begins a case, `key: value` says something of it,
/// `| ` adds bytes, `#` begins a remark. In bytes and in bodies `\r \n \t \0 \\ \xHH` stand for themselves, and `\*5{ab}` for `ab` five
/// times; nothing else is added, not even the end of the line.
struct CorpusEntry {
  /// The file's title.
  let group: String
  /// What is odd about the case.
  let name: String
  /// Where the rule is written.
  let section: String
  let bytes: [UInt8]
  private let keys: [String: [String]]

  /// `file: name`, for messages.
  let label: String

  fileprivate init(file: String, name: String, defaults: [String: [String]], keys: [String: [String]], bytes: [UInt8]) throws {
    let all = defaults.merging(keys) { $1 }
    label = "\(file): \(name)"
    guard let group = all["title"]?.first, let section = all["section"]?.first, all["expect"] != nil else {
      throw FixtureFailure("\(label): title, section or expect is missing")
    }
    self.group = group
    self.name = name
    self.section = section
    self.bytes = bytes
    self.keys = all
  }

  /// Every value of a key.
  func values(_ key: String) -> [String] { keys[key] ?? [] }

  /// The one value of a key.
  func value(_ key: String) -> String? { keys[key]?.last }
}

enum CorpusFile {
  private static let knownKeys: Set = [
    "title", "section", "rule", "expect", "arrives", "with", "without", "without-value", "ends", "begins", "method", "then", "reuse",
  ]

  /// Every case in the files of a folder of Tests/Corpus, in order.
  static func entries(in folder: String) throws -> [CorpusEntry] {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Corpus/\(folder)").standardized
    let files = try FileManager.default.contentsOfDirectory(atPath: path.path).filter { $0.hasSuffix(".txt") }.sorted()
    return try files.flatMap { file in
      try entries(of: String(contentsOf: path.appending(path: file), encoding: .utf8), file: file)
    }
  }

  static func entries(of text: String, file: String) throws -> [CorpusEntry] {
    var entries: [CorpusEntry] = []
    var defaults: [String: [String]] = [:]
    var name: String?
    var keys: [String: [String]] = [:]
    var bytes: [UInt8] = []
    func end() throws {
      if let name { entries.append(try CorpusEntry(file: file, name: name, defaults: defaults, keys: keys, bytes: bytes)) }
      keys = [:]
      bytes = []
    }
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.isEmpty || line.hasPrefix("#") { continue }
      if line.hasPrefix("= ") {
        try end()
        name = String(line.dropFirst(2))
      } else if line.hasPrefix("|") {
        bytes += try unescaped(line.dropFirst(2))
      } else if let colon = line.firstIndex(of: ":"), knownKeys.contains(String(line[..<colon])) {
        let key = String(line[..<colon])
        let value = String(line[line.index(after: colon)...].drop { $0 == " " })
        if name == nil { defaults[key, default: []].append(value) } else { keys[key, default: []].append(value) }
      } else {
        throw FixtureFailure("\(file):\(number + 1): this line means nothing")
      }
    }
    try end()
    return entries
  }

  /// The bytes that a text with escapes stands for.
  static func unescaped(_ text: Substring) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        bytes.append(byte)
        continue
      }
      switch rest.popFirst() {
      case UInt8(ascii: "r"): bytes.append(0x0D)
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "t"): bytes.append(0x09)
      case UInt8(ascii: "0"): bytes.append(0)
      case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
      case UInt8(ascii: "x"):
        guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
          throw FixtureFailure("\\x without digits")
        }
        bytes.append(value)
        rest = rest.dropFirst(2)
      case UInt8(ascii: "*"): bytes += try repeated(&rest)
      default: throw FixtureFailure("an unknown escape in: \(text)")
      }
    }
    return bytes
  }

  /// `5{ab}` behind `\*`; what is repeated may repeat in turn.
  private static func repeated(_ rest: inout ArraySlice<UInt8>) throws -> [UInt8] {
    let digits = rest.prefix { 0x30...0x39 ~= $0 }
    rest = rest.dropFirst(digits.count)
    guard let count = Int(String(decoding: digits, as: UTF8.self)), rest.popFirst() == UInt8(ascii: "{") else {
      throw FixtureFailure("a repetition without number or brace")
    }
    var depth = 1
    var inner: [UInt8] = []
    while depth > 0 {
      guard let byte = rest.popFirst() else { throw FixtureFailure("a repetition without its end") }
      if byte == UInt8(ascii: "{") { depth += 1 } else if byte == UInt8(ascii: "}") { depth -= 1 }
      if depth > 0 { inner.append(byte) }
    }
    let once = try unescaped(Substring(decoding: inner, as: UTF8.self))
    return Array(repeating: once, count: count).flatMap { $0 }
  }
}
