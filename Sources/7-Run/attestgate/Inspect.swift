import AppAttest
import EventLoop

/// `attestgate inspect attestation|assertion FILE`: decodes an object that an app sent and judges it by Apple's steps.
struct InspectCommand {
  static let usage = CommandUsage(
    name: "inspect", operands: "attestation|assertion FILE", operandCount: 2...2,
    summary:
      "Decodes an object that an app sent, and judges it step by step as Apple numbers the steps.\n"
      + "attestgate inspect attestation --help and attestgate inspect assertion --help show the options.")

  /// Runs the command with the words behind its name; the result is the exit code: 0 for accepted, 1 for rejected or unreadable.
  static func run(_ arguments: [String]) -> Int32 {
    let rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "attestation":
      return attestationUsage.run(rest) { given throws(UsageFailure) in
        let inspection = try attestation(given)
        return judge(given) { inspection.report(on: $0) }
      }
    case "assertion":
      return assertionUsage.run(rest) { given throws(UsageFailure) in
        let inspection = try assertion(given)
        return judge(given) { inspection.report(on: $0) }
      }
    default:
      return usage.run(arguments) { given throws(UsageFailure) in
        throw UsageFailure("\(given.operands[0]) is neither attestation nor assertion")
      }
    }
  }

  private static func judge(_ given: Arguments, _ report: ([UInt8]) -> InspectionReport) -> Int32 {
    let file = given.operands[0]
    do throws(InspectionInput.Failure) {
      let report = report(try InspectionInput.object(file))
      print(given.has("--json") ? InspectionOutput.json(report) : InspectionOutput.text(report), terminator: "")
      return report.code == nil ? ExitCode.done : ExitCode.failed
    } catch {
      StandardError.write("attestgate inspect: \(error.message)\n")
      return ExitCode.failed
    }
  }
}
