import AppAttest
import FoundationEssentials

/// Writes a report of `inspect`.
enum InspectionOutput {
  /// For people: the fields, a line a step, and last the verdict.
  static func text(_ report: InspectionReport) -> String {
    let nameWidth = (report.fields.map(\.name.count) + [0]).max() ?? 0
    let fields = report.fields.map { "  \(padded($0.name, nameWidth))  \(printable($0.value))\n" }
    let stepWidth = report.steps.map(\.name.count).max() ?? 0
    let steps = report.steps.map { step in
      let number = step.number.map(String.init) ?? ""
      return
        "  \(String(repeating: " ", count: max(0, 2 - number.count)))\(number)  \(padded(step.name, stepWidth))  \(outcome(of: step))\n"
    }
    let skipped = report.steps.filter { $0.result == .skipped }.map(\.name)
    let caution = skipped.isEmpty ? "" : "Not judged: \(skipped.joined(separator: ", "))\n"
    let verdict = report.code.map { "rejected: \($0)" } ?? "accepted"
    return (fields.isEmpty ? "" : "Fields\n\(fields.joined())\n") + "Steps, by Apple's numbers\n\(steps.joined())\n\(caution)\(verdict)\n"
  }

  private static func outcome(of step: StepReport) -> String {
    switch step.result {
    case .pass: "pass: \(printable(step.detail))"
    case .fail(let code): "FAIL: \(printable(step.detail)) (\(code))"
    case .skipped, .notApplicable: "skipped: \(printable(step.detail))"
    }
  }

  static func padded(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - text.count)) }

  /// Objects come from anybody: what a terminal would obey is shown by its number.
  static func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private struct Report: Encodable {
    struct Step: Encodable {
      var number: Int?
      var name: String
      var result: String
      var code: String?
      var detail: String
    }

    var verdict: String
    var code: String?
    var steps: [Step]
    var fields: [String: String]
  }

  /// For programs.
  static func json(_ report: InspectionReport) -> String {
    let steps = report.steps.map { step in
      switch step.result {
      case .pass: Report.Step(number: step.number, name: step.name, result: "pass", code: nil, detail: step.detail)
      case .fail(let code): Report.Step(number: step.number, name: step.name, result: "fail", code: code, detail: step.detail)
      case .skipped, .notApplicable: Report.Step(number: step.number, name: step.name, result: "skipped", code: nil, detail: step.detail)
      }
    }
    let fields = Dictionary(report.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let verdict = report.code == nil ? "accepted" : "rejected"
    guard let data = try? encoder.encode(Report(verdict: verdict, code: report.code, steps: steps, fields: fields)) else { return "{}\n" }
    return String(decoding: data, as: UTF8.self) + "\n"
  }
}
