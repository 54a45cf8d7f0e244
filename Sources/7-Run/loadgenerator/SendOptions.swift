import AppAttest
import SimulatedDevice

/// Wrong usage: exit 2.
struct UsageFailure: Error {
  var message: String

  init(_ message: String) { self.message = message }
}

/// A command's words, told apart: `--name value`, `--name`, and operands.
struct ParsedWords {
  private var values: [String: String] = [:]
  private(set) var operands: [String] = []

  init(_ words: ArraySlice<String>, switches: Set<String>, valued: Set<String>, operandCount: Int) throws(UsageFailure) {
    var rest = words
    while let word = rest.popFirst() {
      if switches.contains(word) {
        values[word] = ""
      } else if valued.contains(word) {
        guard let value = rest.popFirst() else { throw UsageFailure("\(word) needs a value") }
        values[word] = value
      } else if word.hasPrefix("-") {
        throw UsageFailure("unknown option \(word)")
      } else {
        operands.append(word)
      }
    }
    guard operands.count == operandCount else { throw UsageFailure(operandCount == 1 ? "one URL is wanted" : "no operand is wanted") }
  }

  func has(_ name: String) -> Bool { values[name] != nil }

  func value(_ name: String) -> String? { values[name] }

  func number(_ name: String, in range: ClosedRange<Int>, default standard: Int) throws(UsageFailure) -> Int {
    guard let text = values[name] else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw UsageFailure("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// A proxy that is sent requests to, and the process whose time they cost.
struct Target: Sendable {
  var url: RequestURL
  var process: Int?
}

/// What `send` was asked for.
struct SendOptions: Sendable {
  let gate: Target
  let beside: Target?
  /// Nil for requests that are not signed.
  let authority: String?
  let app: AppIdentity
  let keyCount: Int
  let connectionCount: Int
  let requestCount: Int
  let withheldCount: Int
  let bodyByteCount: Int
  let namesKey: Bool
  let usesOneKey: Bool
  let roundCount: Int
  let waitsForInput: Bool
  let asJSON: Bool

  var method: String { bodyByteCount > 0 ? "POST" : "GET" }

  init(_ words: ArraySlice<String>) throws(UsageFailure) {
    let given = try ParsedWords(
      words, switches: ["--unsigned", "--unnamed", "--one-key", "--step", "--json"],
      valued: [
        "--authority", "--app", "--keys", "--connections", "--requests", "--withheld", "--body", "--rounds", "--process", "--beside",
        "--beside-process",
      ], operandCount: 1)
    authority = given.has("--unsigned") ? nil : given.value("--authority")
    guard authority != nil || given.has("--unsigned") else { throw UsageFailure("--authority is wanted, or --unsigned") }
    gate = try Self.target(given.operands[0], process: given.value("--process"))
    beside = if let text = given.value("--beside") { try Self.target(text, process: given.value("--beside-process")) } else { nil }
    let appText = given.value("--app") ?? "ABCDE12345.com.example.shop"
    guard let dot = appText.firstIndex(of: ".") else { throw UsageFailure("--app must be a prefix, a dot and a bundle identifier") }
    app = AppIdentity(prefix: String(appText[..<dot]), bundleIdentifier: String(appText[appText.index(after: dot)...]))
    connectionCount = try given.number("--connections", in: 1...4096, default: 32)
    keyCount = try given.number("--keys", in: connectionCount...1_000_000, default: max(1000, connectionCount))
    requestCount = try given.number("--requests", in: 1...10_000_000, default: 10_000)
    withheldCount = try given.number("--withheld", in: 0...10_000_000, default: 0)
    bodyByteCount = try given.number("--body", in: 0...1 << 20, default: 0)
    roundCount = try given.number("--rounds", in: 1...10_000, default: 1)
    namesKey = !given.has("--unnamed")
    usesOneKey = given.has("--one-key")
    waitsForInput = given.has("--step")
    asJSON = given.has("--json")
  }

  private static func target(_ text: String, process: String?) throws(UsageFailure) -> Target {
    guard let url = RequestURL(text), !url.isSecure else { throw UsageFailure("\(text) is no http URL") }
    guard process == nil || process.flatMap({ Int($0) }) != nil else { throw UsageFailure("a process is a number") }
    return Target(url: url, process: process.flatMap { Int($0) })
  }
}
