/// How one step of a judgement came out, for a person who wants to know why an object is not accepted.
public struct StepReport: Sendable, Equatable {
  /// How the step came out.
  public enum Result: Sendable, Equatable {
    /// It holds.
    case pass
    /// It does not; the code is what a client would see.
    case fail(code: String)
    /// It was not judged, because an input was not given or an earlier step failed.
    case skipped
    /// There was nothing to judge: the step is not for this object.
    case notApplicable
  }

  /// Apple's number of the step, nil for what Apple does not number.
  public let number: Int?
  /// What is judged.
  public let name: String
  /// How it came out.
  public let result: Result
  /// What was found, what differs, or why it was skipped. May quote text from the object, control characters and all.
  public let detail: String
}

/// Something that was read from an object, whether or not it is true.
public struct ReportField: Sendable, Equatable {
  /// Its name, in lower case with underscores.
  public let name: String
  /// For people: base64, hexadecimal or text. May quote text from the object, control characters and all.
  public let value: String
}

/// What a judgement found, step by step.
public struct InspectionReport: Sendable, Equatable {
  /// Everything that could be decoded.
  public let fields: [ReportField]
  /// In Apple's order.
  public let steps: [StepReport]

  /// The code of the first step that failed, nil when none did: the object is accepted as far as it could be judged.
  public var code: String? {
    for step in steps { if case .fail(let code) = step.result { return code } }
    return nil
  }
}

/// Runs the steps of a judgement and keeps what each found. The verifier and `inspect` run the same steps: the one stops at the first
/// failure, the other goes on with whatever can still be judged.
struct StepRecorder<Refusal: RawRepresentable<String> & Sendable>: Sendable {
  /// What a step says.
  enum Outcome<Value> {
    /// It holds, and gives later steps something to go on with.
    case pass(Value, String)
    /// It does not hold.
    case fail(Refusal, String)
    /// It cannot be judged.
    case skipped(String)
    /// It is not for this object.
    case notApplicable(String)
  }

  private let stopsAtFirstFailure: Bool
  private(set) var reports: [StepReport] = []
  /// The first failure.
  private(set) var failure: (refusal: Refusal, reason: String)?

  init(stopsAtFirstFailure: Bool) { self.stopsAtFirstFailure = stopsAtFirstFailure }

  /// Judges one step, unless a failure ended the judgement before; the value is there only if it passed.
  @discardableResult
  mutating func step<Value>(_ number: Int?, _ name: String, _ judge: () -> Outcome<Value>) -> Value? {
    if stopsAtFirstFailure && failure != nil { return nil }
    switch judge() {
    case .pass(let value, let detail):
      record(number, name, .pass, detail)
      return value
    case .fail(let refusal, let detail):
      if failure == nil { failure = (refusal, detail) }
      record(number, name, .fail(code: refusal.rawValue), detail)
    case .skipped(let reason):
      record(number, name, .skipped, reason)
    case .notApplicable(let reason):
      record(number, name, .notApplicable, reason)
    }
    return nil
  }

  /// Judges a step that Apple does not number.
  @discardableResult
  mutating func step<Value>(_ name: String, _ judge: () -> Outcome<Value>) -> Value? { step(nil, name, judge) }

  private mutating func record(_ number: Int?, _ name: String, _ result: StepReport.Result, _ detail: String) {
    reports.append(StepReport(number: number, name: name, result: result, detail: detail))
  }
}
