import EventLoop

/// What a command can be told: its options and operands, from which the help is made too.
struct CommandUsage: Sendable {
  struct Option: Sendable {
    /// `--state`.
    var name: String
    /// `-X`; nil for most.
    var short: String?
    /// What stands for the value in the help, `DIR`; nil for a switch without one.
    var value: String?
    /// Whether it may be given more than once.
    var isRepeatable = false
    /// One line.
    var help: String

    init(_ name: String, short: String? = nil, value: String? = nil, isRepeatable: Bool = false, _ help: String) {
      self.name = name
      self.short = short
      self.value = value
      self.isRepeatable = isRepeatable
      self.help = help
    }
  }

  /// `device enroll`, after the program's name.
  var name: String
  /// The operands as the help shows them, `[URL]`.
  var operands = ""
  /// How many operands there may be.
  var operandCount: ClosedRange<Int> = 0...0
  /// What it does, one sentence or more.
  var summary: String
  /// Every option but `--help`.
  var options: [Option] = []

  /// The help, with its line feed.
  var help: String {
    let described = options + [Option("--help", "shows this")]
    let left = described.map { option in
      (option.short.map { $0 + ", " } ?? "") + option.name + (option.value.map { " " + $0 } ?? "")
    }
    let width = left.map(\.count).max() ?? 0
    let lines = zip(left, described).map { "  \($0)\(String(repeating: " ", count: width - $0.count))  \($1.help)" }
    return "usage: \(synopsis)\n\n\(summary)\n\n\(lines.joined(separator: "\n"))\n"
  }

  var synopsis: String { "attestgate \(name)\(options.isEmpty ? "" : " [options]")\(operands.isEmpty ? "" : " " + operands)" }
}

/// Wrong usage: exit 2.
struct UsageFailure: Error, Equatable {
  var message: String

  init(_ message: String) { self.message = message }
}

/// A command's options and operands as they were given. `--name value`, `--name=value`, `-X value`; `--` ends the options, a lone `-` is an operand.
struct Arguments {
  private var values: [String: [String]] = [:]
  /// What is no option, in order.
  private(set) var operands: [String] = []

  init(_ words: [String], _ usage: CommandUsage) throws(UsageFailure) {
    var rest = words[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      if onlyOperands || word == "-" || !word.hasPrefix("-") {
        operands.append(word)
      } else if word == "--" {
        onlyOperands = true
      } else {
        try take(word, &rest, usage)
      }
    }
    guard usage.operandCount.contains(operands.count) else {
      throw UsageFailure(operands.count < usage.operandCount.lowerBound ? "too few arguments" : "too many arguments")
    }
  }

  private mutating func take(_ word: String, _ rest: inout ArraySlice<String>, _ usage: CommandUsage) throws(UsageFailure) {
    let parts = word.hasPrefix("--") ? word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init) : [word]
    guard let option = usage.options.first(where: { $0.name == parts[0] || $0.short == parts[0] }) else {
      throw UsageFailure("unknown option \(parts[0])")
    }
    guard option.isRepeatable || values[option.name] == nil else { throw UsageFailure("\(option.name) is given twice") }
    if option.value == nil {
      guard parts.count == 1 else { throw UsageFailure("\(option.name) takes no value") }
      values[option.name, default: []].append("")
    } else {
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else { throw UsageFailure("\(option.name) needs a value") }
      values[option.name, default: []].append(value)
    }
  }

  /// Whether the option was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// The option's value; nil when it was not given.
  func value(_ name: String) -> String? { values[name]?.first }

  /// Every value of a repeatable option, in order.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// The option's value as a whole number of `range`.
  func number(_ name: String, in range: ClosedRange<Int>) throws(UsageFailure) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageFailure("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

extension CommandUsage {
  /// Runs a command: `--help` prints the help (exit 0), wrong usage complains on standard error (exit 2), and otherwise `body` says the exit code.
  func run(_ words: [String], _ body: (Arguments) throws(UsageFailure) -> Int32) -> Int32 {
    if words.prefix(while: { $0 != "--" }).contains("--help") {
      print(help, terminator: "")
      return ExitCode.done
    }
    do throws(UsageFailure) {
      return try body(Arguments(words, self))
    } catch {
      StandardError.write("attestgate \(name): \(error.message)\nusage: \(synopsis)\nattestgate \(name) --help shows the options\n")
      return ExitCode.wrongUsage
    }
  }
}

/// What the shell is told.
enum ExitCode {
  static let done: Int32 = 0
  /// Refused or failed.
  static let failed: Int32 = 1
  static let wrongUsage: Int32 = 2
}
