import CHiredis
import Cryptography
import EventLoop

/// The commands of `attestgate`, by their first word.
enum Program {
  private struct Command: Sendable {
    var name: String
    var summary: String
    var run: @Sendable ([String]) -> Int32
  }

  private static let commands: [Command] = [
    Command(name: "serve", summary: "runs the gate", run: ServeCommand.run),
    Command(name: "check", summary: "checks a configuration as a start would", run: CheckCommand.run),
    Command(name: "inspect", summary: "decodes and judges an attestation or an assertion, step by step", run: InspectCommand.run),
    Command(name: "keys", summary: "lists, shows, revokes and restores the enrolled keys", run: KeysCommand.run),
    Command(name: "device", summary: "a simulated device: enrols, signs and sends requests as an app would", run: DeviceCommand.run),
    Command(name: "healthcheck", summary: "asks a running gate whether it is ready", run: HealthCheckCommand.run),
    Command(name: "version", summary: "prints the versions of the program and of its libraries", run: VersionCommand.run),
  ]

  /// Runs the command that the words name; the exit code is 0 for done, 1 for refused or failed, 2 for wrong usage.
  static func run(_ words: [String]) -> Int32 {
    guard let name = words.first, name != "--help", name != "-h", name != "help" else {
      print(help, terminator: "")
      return words.isEmpty ? ExitCode.wrongUsage : ExitCode.done
    }
    // Whoever packages or watches programs asks all of them like this.
    if name == "--version" { return VersionCommand.run(Array(words.dropFirst())) }
    guard let command = commands.first(where: { $0.name == name }) else {
      StandardError.write("attestgate: there is no command \(name)\n\(help)")
      return ExitCode.wrongUsage
    }
    return command.run(Array(words.dropFirst()))
  }

  private static var help: String {
    let width = commands.map(\.name.count).max() ?? 0
    let lines = commands.map { "  \($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.summary)" }
    return """
      usage: attestgate <command> [options]

      AttestGate lets a request through to an HTTP API only with a valid App Attest assertion for exactly that request.

      \(lines.joined(separator: "\n"))

      attestgate <command> --help shows a command's options

      """
  }
}

/// The program's own version.
enum Version {
  static let number = "0.1.0"

  /// The compiler that built it.
  static var swift: String {
    #if swift(>=6.4)
      "6.4 or later"
    #elseif swift(>=6.3)
      "6.3"
    #else
      "before 6.3"
    #endif
  }
}

/// `attestgate version`.
struct VersionCommand {
  static let usage = CommandUsage(
    name: "version", summary: "Prints the versions of the program, of Swift, OpenSSL and hiredis.",
    options: [.init("--json", "for programs")])

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      let openSSL = LibraryVersion.text
      let hiredis = "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)"
      if arguments.has("--json") {
        print("{\"attestgate\":\"\(Version.number)\",\"swift\":\"\(Version.swift)\",\"openssl\":\"\(openSSL)\",\"hiredis\":\"\(hiredis)\"}")
      } else {
        print("attestgate \(Version.number)\nSwift \(Version.swift)\nOpenSSL \(openSSL)\nhiredis \(hiredis)")
      }
      return ExitCode.done
    }
  }
}
