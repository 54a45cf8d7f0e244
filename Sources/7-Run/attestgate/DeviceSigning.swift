import Bytes
import FoundationEssentials
import SimulatedDevice

/// `attestgate device sign`: signs for another HTTP client, such as curl or a load generator.
struct DeviceSigning {
  /// The options about signing, which `request` has too.
  static let options: [CommandUsage.Option] = [
    .init("--state", value: "DIR", "the device's folder, \(DeviceCommand.stateDirectory) unless said otherwise"),
    .init("--no-key-id", "does not name the key: the gate recovers it from the signature"),
    .init("--profile", value: "json|body", "what is signed: JSON about the request (the default), or the raw body alone"),
    .init("--encoded-path", "binds the raw path, for a route with `path_form: encoded`"),
    .init("--bind-host", "binds the host"),
    .init("--assertion-header", value: "NAME", "instead of X-App-Attest-Assertion (X-App-Assertion with --profile body)"),
    .init("--client-data-header", value: "NAME", "instead of X-App-Attest-Client-Data"),
    .init("--key-id-header", value: "NAME", "instead of X-App-Attest-Key-Id"),
  ]

  private static let usage = CommandUsage(
    name: "device sign",
    summary:
      "Reads {\"method\", \"target\", \"body\" (base64), \"challenge\"} from standard input, and \"host\" with --bind-host; prints the header lines\n"
      + "that go with the request. The challenge is the text that GET /assert/challenge gave.",
    options: options + [.init("--json", "prints one JSON object, for programs")])

  private struct Input: Decodable {
    var method: String
    var target: String
    var body: String?
    var challenge: String?
    var host: String?
  }

  static func run(_ words: [String]) -> Int32 {
    usage.run(words) { arguments throws(UsageFailure) in
      let signing = try options(from: arguments)
      let input = try input(arguments)
      guard let body = Base64.decode(input.body ?? "", maximum: 64 << 20) else { throw UsageFailure("\"body\" is no base64") }
      guard input.target.hasPrefix("/"), let url = RequestURL("http://\(input.host ?? "localhost")\(input.target)") else {
        throw UsageFailure("\"target\" is no request target, such as /v1/orders?page=2")
      }
      let directory = arguments.value("--state") ?? DeviceCommand.stateDirectory
      return DeviceCommand.attempt { () throws(DeviceFailure) in
        let device = try DeviceState.load(from: directory)
        let lines = device.sign(method: input.method, url: url, body: body, challenge: input.challenge, options: signing)
        // Saved before the signature is out: a counter is never used twice.
        try DeviceState(device).save(in: directory)
        if arguments.has("--json") {
          DeviceCommand.printJSON(Dictionary(lines.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }))
        } else {
          for line in lines { print("\(line.name): \(line.value)") }
        }
        return ExitCode.done
      }
    }
  }

  private static func input(_ arguments: Arguments) throws(UsageFailure) -> Input {
    var text = ""
    while let line = readLine(strippingNewline: false) { text += line }
    guard let input = try? JSONDecoder().decode(Input.self, from: Data(text.utf8)) else {
      throw UsageFailure("standard input is not the JSON object that --help shows")
    }
    guard input.challenge != nil || arguments.value("--profile") == SigningOptions.Profile.body.rawValue else {
      throw UsageFailure("\"challenge\" is missing")
    }
    guard input.host != nil || !arguments.has("--bind-host") else { throw UsageFailure("\"host\" is missing") }
    return input
  }

  static func options(from arguments: Arguments) throws(UsageFailure) -> SigningOptions {
    var options = SigningOptions()
    if let name = arguments.value("--profile") {
      guard let profile = SigningOptions.Profile(rawValue: name) else { throw UsageFailure("--profile takes json or body") }
      options.profile = profile
    }
    options.namesKey = !arguments.has("--no-key-id")
    options.bindsEncodedPath = arguments.has("--encoded-path")
    options.bindsHost = arguments.has("--bind-host")
    options.assertionHeader = arguments.value("--assertion-header")
    if let name = arguments.value("--client-data-header") { options.clientDataHeader = name }
    if let name = arguments.value("--key-id-header") { options.keyIdentifierHeader = name }
    return options
  }
}
