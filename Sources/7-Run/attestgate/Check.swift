import Configuration
import EventLoop
import FoundationEssentials

/// `attestgate check`: the start-up path without listening.
struct CheckCommand {
  private static let usage = CommandUsage(
    name: "check", operands: "FILE", operandCount: 1...1,
    summary:
      "Reads a configuration as a start would, with the files it names, and says what it means: the routes in the order in which they are\n"
      + "tried, and what works but may not be meant. Exit 0 when the gate would start, 1 when it would not, with every problem and its place.",
    options: [
      CommandUsage.Option("--json", "prints one JSON object, for programs"),
      CommandUsage.Option("--quiet", "prints nothing when the gate would start"),
    ])

  /// Runs the command with the words behind its name; the result is the exit code.
  static func run(_ arguments: [String]) -> Int32 {
    usage.run(arguments) { given throws(UsageFailure) in
      check(given.operands[0], asJSON: given.has("--json"), quietly: given.has("--quiet"))
    }
  }

  private static func check(_ file: String, asJSON: Bool, quietly: Bool) -> Int32 {
    do throws(ConfigurationFailure) {
      let configuration = try ConfigurationLoader.load(file: file)
      if !quietly { print(asJSON ? json(ConfigurationReport(configuration)) : ConfigurationSummary(configuration).text, terminator: "") }
      return ExitCode.done
    } catch {
      if asJSON {
        print(json(ConfigurationReport(file: file, problems: error.problems)), terminator: "")
      } else {
        let count = error.problems.count == 1 ? "1 problem" : "\(error.problems.count) problems"
        StandardError.write(error.problems.map { "\($0)\n" }.joined() + "\(file): \(count); the gate would not start\n")
      }
      return ExitCode.failed
    }
  }

  private static func json(_ report: ConfigurationReport) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(report) else { return "{}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
  }
}
