import Bytes
import EventLoop
import FoundationEssentials
import HTTP
import SimulatedDevice

/// `attestgate device request`: what an app does for every request.
struct DeviceRequest {
  /// What is changed after signing, to see it refused.
  enum Tampering: String, CaseIterable {
    case body, path, method, query
  }

  private static let usage = CommandUsage(
    name: "device request", operands: "URL", operandCount: 1...1,
    summary:
      "Takes a challenge from the gate at URL, signs the request as an app would, sends it and prints the answer. Exit 0 when the (last)\n"
      + "answer is 2xx. --repeat, --tamper and --unsigned show what the gate refuses.",
    options: [
      .init("--method", short: "-X", value: "METHOD", "GET unless said otherwise, POST with a body"),
      .init("--data", short: "-d", value: "BODY", "the body; @FILE takes it from a file"),
      .init("--header", short: "-H", value: "'NAME: VALUE'", isRepeatable: true, "a further header field"),
      .init("--repeat", "sends the same signed request twice"),
      .init("--tamper", value: "PART", "changes body, path, method or query after signing"),
      .init("--unsigned", "sends the request without signing it"),
      .init("--include", short: "-i", "prints the answer's header fields too"),
      DeviceCommand.trustOption,
    ] + DeviceSigning.options + [
      .init("--challenge-path", value: "PATH", "where challenges are, /assert/challenge unless said otherwise"),
      .init("--json", "prints one JSON object, for programs"),
    ])

  private var request: HTTPClientRequest
  private let signing: SigningOptions
  private let stateDirectory: String
  private let challengePath: String
  private let tampering: Tampering?
  private let isSigned: Bool
  private let isRepeated: Bool
  private let printsHead: Bool
  private let printsJSON: Bool

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      var command = try DeviceRequest(arguments)
      return DeviceCommand.attempt { () throws(CommandFailure) in try command.run() }
    }
  }

  private init(_ arguments: Arguments) throws(UsageFailure) {
    let url = try DeviceCommand.url(arguments.operands[0])
    request = HTTPClientRequest(url, trust: try DeviceCommand.trust(of: url, arguments))
    if let data = arguments.value("--data") { request.body = try Self.body(data) }
    request.method = arguments.value("--method") ?? (arguments.has("--data") ? "POST" : "GET")
    guard Self.isToken(request.method) else { throw UsageFailure("--method is no HTTP method") }
    for text in arguments.all("--header") { request.fields.append(try Self.field(text)) }
    if !request.body.isEmpty, !request.has("Content-Type") { request.fields.append(HeaderLine("Content-Type", "application/json")) }
    signing = try DeviceSigning.options(from: arguments)
    stateDirectory = arguments.value("--state") ?? DeviceCommand.stateDirectory
    challengePath = arguments.value("--challenge-path") ?? "/assert/challenge"
    tampering = try arguments.value("--tamper").map { text throws(UsageFailure) in
      guard let tampering = Tampering(rawValue: text) else { throw UsageFailure("--tamper takes body, path, method or query") }
      return tampering
    }
    isSigned = !arguments.has("--unsigned")
    isRepeated = arguments.has("--repeat")
    printsHead = arguments.has("--include")
    printsJSON = arguments.has("--json")
    guard isSigned || tampering == nil else { throw UsageFailure("--tamper changes what was signed: not with --unsigned") }
  }

  private static func body(_ data: String) throws(UsageFailure) -> [UInt8] {
    guard data.hasPrefix("@") else { return Array(data.utf8) }
    let path = String(data.dropFirst())
    guard let content = FileManager.default.contents(atPath: path) else { throw UsageFailure("\(path) cannot be read") }
    return [UInt8](content)
  }

  private static func isToken(_ text: String) -> Bool {
    let marks = Set("!#$%&'*+-.^_`|~".utf8)
    return !text.isEmpty
      && text.utf8.allSatisfy { byte in
        marks.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      }
  }

  private static func field(_ text: String) throws(UsageFailure) -> HeaderLine {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, isToken(String(parts[0])), !parts[1].utf8.contains(where: { $0 == 13 || $0 == 10 || $0 == 0 }) else {
      throw UsageFailure("--header must be 'Name: value'")
    }
    return HeaderLine(String(parts[0]), String(parts[1].drop { $0 == " " }))
  }

  private mutating func run() throws(CommandFailure) -> Int32 {
    if isSigned, let refusal = try sign() {
      report([refusal])
      return ExitCode.failed
    }
    tamper()
    var answers: [HTTPClientAnswer] = []
    for _ in 0..<(isRepeated ? 2 : 1) {
      let request = request
      answers.append(try CommandFailure.of { () throws(HTTPClientFailure) in try HTTPClientExchange.run(request) })
    }
    report(answers)
    return answers.last?.isSuccess == true ? ExitCode.done : ExitCode.failed
  }

  /// Signs the request; the gate's answer when it gives no challenge. The counter is saved before anything leaves the device.
  private mutating func sign() throws(CommandFailure) -> HTTPClientAnswer? {
    let directory = stateDirectory
    let device = try CommandFailure.of { () throws(DeviceFailure) in try DeviceState.load(from: directory) }
    var challenge: String?
    if signing.profile == .json {
      let (request, path) = (request, challengePath)
      switch try CommandFailure.of({ () throws(HTTPClientFailure) in try DeviceCommand.challenge(at: path, for: request) }) {
      case .given(let text): challenge = text
      case .refused(let answer): return answer
      }
    }
    request.fields += device.sign(method: request.method, url: request.url, body: request.body, challenge: challenge, options: signing)
    try CommandFailure.of { () throws(DeviceFailure) in try DeviceState(device).save(in: directory) }
    return nil
  }

  private mutating func tamper() {
    switch tampering {
    case .body: request.body += Array(" ".utf8)
    case .path: request.url.path += "-changed"
    case .query: request.url.query = (request.url.query.map { $0 + "&" } ?? "") + "changed=1"
    case .method: request.method = request.method == "POST" ? "PUT" : "POST"
    case nil: break
    }
  }

  private struct Report: Encodable {
    struct Answer: Encodable {
      var status: Int
      var body: String
    }

    var answers: [Answer]
  }

  private func report(_ answers: [HTTPClientAnswer]) {
    if printsJSON {
      DeviceCommand.printJSON(Report(answers: answers.map { Report.Answer(status: $0.status, body: $0.text) }))
      return
    }
    for answer in answers {
      print(printsHead ? answer.head.replacing("\r\n", with: "\n").dropLast() : answer.statusLine)
      print(answer.text, terminator: answer.text.hasSuffix("\n") ? "" : "\n")
    }
  }
}
