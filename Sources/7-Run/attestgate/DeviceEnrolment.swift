import AppAttest
import Bytes
import EventLoop
import FoundationEssentials
import SimulatedDevice

/// `attestgate device enroll`: what an app does once after its installation.
struct DeviceEnrolment {
  private static let usage = CommandUsage(
    name: "device enroll", operands: "URL", operandCount: 1...1,
    summary:
      "Makes a new key, has the authority attest it for a challenge of the gate at URL, and enrols it there. The key and its counter are\n"
      + "kept in the state folder, in place of an earlier key.",
    options: [
      .init("--app", value: "PREFIX.BUNDLE", "the app, ABCDE12345.com.example.shop unless said otherwise"),
      .init("--authority", value: "DIR", "the authority's folder, \(DeviceCommand.authorityDirectory) unless said otherwise"),
      .init("--state", value: "DIR", "the device's folder, \(DeviceCommand.stateDirectory) unless said otherwise"),
      DeviceCommand.trustOption,
      .init("--category", value: "N", "imitates iOS 27: the launch category, 2 TestFlight, 3 development, 4 App Store"),
      .init("--bundle-version", value: "TEXT", "imitates iOS 27: CFBundleVersion of the app"),
      .init("--production", "claims Apple's production environment, development otherwise"),
      .init("--challenge-path", value: "PATH", "where challenges are, /attest/challenge unless said otherwise"),
      .init("--verify-path", value: "PATH", "where attestations go, /attest/verify unless said otherwise"),
      .init("--json", "prints one JSON object, for programs"),
    ])

  private let endpoint: HTTPClientRequest
  private let authorityDirectory: String
  private let stateDirectory: String
  private let challengePath: String
  private let verifyPath: String
  private let environment: AttestationEnvironment
  private let printsJSON: Bool
  private let device: SimulatedDevice

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      let enrolment = try DeviceEnrolment(arguments)
      return DeviceCommand.attempt { () throws(CommandFailure) in try enrolment.enroll() }
    }
  }

  private init(_ arguments: Arguments) throws(UsageFailure) {
    let url = try DeviceCommand.url(arguments.operands[0])
    endpoint = HTTPClientRequest(url, trust: try DeviceCommand.trust(of: url, arguments))
    authorityDirectory = arguments.value("--authority") ?? DeviceCommand.authorityDirectory
    stateDirectory = arguments.value("--state") ?? DeviceCommand.stateDirectory
    challengePath = arguments.value("--challenge-path") ?? "/attest/challenge"
    verifyPath = arguments.value("--verify-path") ?? "/attest/verify"
    environment = arguments.has("--production") ? .production : .development
    printsJSON = arguments.has("--json")
    let name = arguments.value("--app") ?? "ABCDE12345.com.example.shop"
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex, name.index(after: dot) != name.endIndex else {
      throw UsageFailure("--app must be the App ID prefix, a dot and the bundle identifier")
    }
    let app = AppIdentity(prefix: String(name[..<dot]), bundleIdentifier: String(name[name.index(after: dot)...]))
    let category = try arguments.number("--category", in: 0...Int(UInt32.max))
    let bundleVersion = arguments.value("--bundle-version")
    var system = SimulatedSystem.iOS26
    if category != nil || bundleVersion != nil {
      guard bundleVersion?.utf8.count ?? 0 <= 255 else { throw UsageFailure("--bundle-version is longer than 255 bytes") }
      system = .iOS27(category: UInt32(category ?? 4), bundleVersion: bundleVersion ?? "1")
    }
    device = SimulatedDevice(app: app, system: system)
  }

  private struct Request: Encodable {
    var key_id: String
    var attestation: String
    var challenge: String
  }

  private struct Report: Encodable {
    var status: Int
    var key_id: String
    var body: String
  }

  private func enroll() throws(CommandFailure) -> Int32 {
    let authority = try CommandFailure.of { () throws(DeviceFailure) in try SimulatedAuthority(loadingFrom: authorityDirectory) }
    let given = try CommandFailure.of { () throws(HTTPClientFailure) in try DeviceCommand.challenge(at: challengePath, for: endpoint) }
    guard case .given(let challenge) = given else {
      if case .refused(let answer) = given { report(answer) }
      return ExitCode.failed
    }
    let challengeBytes = Array(challenge.utf8)
    let object = try CommandFailure.of { () throws(DeviceFailure) in
      try device.attest(challenge: challengeBytes, authority: authority, environment: environment, at: WallClock.unixSeconds)
    }
    let keyIdentifier = device.keyIdentifier.base64
    let request = Request(key_id: keyIdentifier, attestation: Base64.encode(object.span), challenge: Base64.encode(challengeBytes.span))
    let answer = try CommandFailure.of { () throws(HTTPClientFailure) in try send(request) }
    report(answer)
    guard answer.status == 200 else { return ExitCode.failed }
    try CommandFailure.of { () throws(DeviceFailure) in try DeviceState(device).save(in: stateDirectory) }
    return ExitCode.done
  }

  private func send(_ body: Request) throws(HTTPClientFailure) -> HTTPClientAnswer {
    var request = HTTPClientRequest(endpoint.url.at(target: verifyPath), trust: endpoint.trust)
    request.method = "POST"
    request.fields = [HeaderLine("Content-Type", "application/json")]
    request.body = (try? JSONEncoder().encode(body)).map { [UInt8]($0) } ?? []
    return try HTTPClientExchange.run(request)
  }

  private func report(_ answer: HTTPClientAnswer) {
    if printsJSON {
      DeviceCommand.printJSON(Report(status: answer.status, key_id: device.keyIdentifier.base64, body: answer.text))
    } else {
      print("\(answer.statusLine)\n\(answer.text)")
    }
  }
}

/// Whatever ended a command, as one kind of failure.
struct CommandFailure: Error, CustomStringConvertible {
  var description: String

  static func of<Value, Failure: Error & CustomStringConvertible>(_ body: () throws(Failure) -> Value) throws(CommandFailure) -> Value {
    do throws(Failure) {
      return try body()
    } catch {
      throw CommandFailure(description: error.description)
    }
  }
}
