import AppAttest
import Bytes
import Cryptography
import EventLoop
import FoundationEssentials
import SimulatedDevice
import TLS

/// `attestgate device`: a device in software, for whoever has no iPhone at hand.
struct DeviceCommand {
  static let authorityDirectory = ".attestgate-authority"
  static let stateDirectory = ".attestgate-device"

  private static let help = """
    usage: attestgate device <command> [options]

    A simulated device: enrols at a gate that trusts its authority, signs requests as an app would and sends them.

      authority DIR   makes an attestation authority and its root certificate
      enroll URL      makes a key and enrols it at the gate there
      request URL     signs a request, sends it and prints the answer
      sign            signs a request from standard input and prints the header lines

    attestgate device <command> --help shows the options of each.

    """

  static func run(_ arguments: [String]) -> Int32 {
    let rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "authority": return authority(rest)
    case "enroll": return DeviceEnrolment.run(rest)
    case "request": return DeviceRequest.run(rest)
    case "sign": return DeviceSigning.run(rest)
    case "--help":
      print(help, terminator: "")
      return ExitCode.done
    case let word:
      StandardError.write((word.map { "attestgate device: unknown command \($0)\n\n" } ?? "") + help)
      return ExitCode.wrongUsage
    }
  }

  // MARK: authority

  private static let authorityUsage = CommandUsage(
    name: "device authority", operands: "DIR", operandCount: 1...1,
    summary:
      "Makes an attestation authority of your own in DIR. Name its root.pem in an app's `trust_roots` and `simulated` in its\n"
      + "`environments`: then the gate takes the keys that simulated devices enrol. Keep it out of production.",
    options: [CommandUsage.Option("--json", "prints one JSON object, for programs")])

  private static func authority(_ words: [String]) -> Int32 {
    authorityUsage.run(words) { arguments throws(UsageFailure) in
      let directory = arguments.operands[0]
      return attempt { () throws(DeviceFailure) in
        let authority = try SimulatedAuthority(makingIn: directory, at: WallClock.unixSeconds)
        let digest = Hexadecimal.encode(authority.root.digest.bytes.span)
        let path = SimulatedAuthority.rootPath(in: directory)
        if arguments.has("--json") {
          printJSON(["root": path, "sha256": digest])
        } else {
          print("\(path)\nSHA-256 \(digest)")
        }
        return ExitCode.done
      }
    }
  }

  // MARK: What the commands share

  /// Runs `body`; a failure of the device or the connection is a complaint and exit 1.
  static func attempt<Failure: Error & CustomStringConvertible>(_ body: () throws(Failure) -> Int32) -> Int32 {
    do throws(Failure) {
      return try body()
    } catch {
      StandardError.write("attestgate device: \(error)\n")
      return ExitCode.failed
    }
  }

  /// One JSON object on standard output.
  static func printJSON(_ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    print(String(decoding: data, as: UTF8.self))
  }

  /// An operand that must be a URL.
  static func url(_ text: String) throws(UsageFailure) -> RequestURL {
    guard let url = RequestURL(text) else { throw UsageFailure("\(text) is no http or https URL, such as http://127.0.0.1:8080") }
    return url
  }

  static let trustOption = CommandUsage.Option(
    "--ca", value: "FILE", "whom an https gate is verified against, the system's authorities unless said otherwise")

  /// Whom a gate at `url` is verified against; nil where it speaks no TLS.
  static func trust(of url: RequestURL, _ arguments: Arguments) throws(UsageFailure) -> TLSClientIdentity? {
    guard url.isSecure else {
      guard !arguments.has("--ca") else { throw UsageFailure("--ca goes with an https URL") }
      return nil
    }
    let path = arguments.value("--ca")
    var authorities: [UInt8]?
    if let path {
      guard let content = FileManager.default.contents(atPath: path) else { throw UsageFailure("\(path) cannot be read") }
      authorities = [UInt8](content)
    }
    do throws(TLSFailure) {
      return try TLSClientIdentity(authorities: authorities, identity: nil)
    } catch {
      throw UsageFailure("\(path ?? "the system's authorities"): \(error)")
    }
  }

  /// The challenge at `target` of the same origin as `request`; what came instead when there is none.
  static func challenge(at target: String, for request: HTTPClientRequest) throws(HTTPClientFailure) -> Challenge {
    let answer = try HTTPClientExchange.run(HTTPClientRequest(request.url.at(target: target), trust: request.trust))
    return answer.status == 200 ? .given(answer.text) : .refused(answer)
  }

  enum Challenge {
    case given(String)
    case refused(HTTPClientAnswer)
  }
}
