import EventLoop
import SimulatedDevice

/// `attestgate healthcheck`: for containers, which may have neither a shell nor curl to ask with.
struct HealthCheckCommand {
  private static let defaultURL = "http://127.0.0.1:9901/readyz"
  private static let defaultTimeoutSeconds = 3
  /// What is shown of an answer, in characters: the gate's own are shorter.
  private static let shownCharactersMax = 500

  private static let usage = CommandUsage(
    name: "healthcheck", operands: "[URL]", operandCount: 0...1,
    summary:
      "Asks the admin listener of a running gate, at URL, and prints what it answers. URL is \(defaultURL) unless said\n"
      + "otherwise; /healthz instead asks whether the process lives. Plain http only, as the admin listener speaks it. Exit 0 when the answer\n"
      + "is 200, 1 when it is another one or does not come in time.",
    options: [
      CommandUsage.Option("--timeout", value: "SECONDS", "how long it may take in all, \(defaultTimeoutSeconds) unless said otherwise")
    ])

  /// Runs the command with the words behind its name; the result is the exit code.
  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      let text = arguments.operands.first ?? defaultURL
      guard let url = RequestURL(text), !url.isSecure else { throw UsageFailure("\(text) is no http URL, such as \(defaultURL)") }
      let seconds = try arguments.number("--timeout", in: 1...60) ?? defaultTimeoutSeconds
      return ask(url, milliseconds: seconds * 1_000)
    }
  }

  private static func ask(_ url: RequestURL, milliseconds: Int) -> Int32 {
    do throws(HTTPClientFailure) {
      let answer = try HTTPClientExchange.run(HTTPClientRequest(url), milliseconds: milliseconds)
      let line = answer.text.split(separator: "\n").first ?? ""
      let shown = InspectionOutput.printable(String(line.prefix(shownCharactersMax)))
      guard answer.status == 200 else {
        StandardError.write("attestgate healthcheck: \(url.path) answers \(answer.status): \(shown)\n")
        return ExitCode.failed
      }
      print(shown)
      return ExitCode.done
    } catch {
      StandardError.write("attestgate healthcheck: \(error)\n")
      return ExitCode.failed
    }
  }
}
