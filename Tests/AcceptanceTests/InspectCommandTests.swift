import Fixtures
import Foundation
import Testing

/// `attestgate inspect` on objects of real devices.
@Suite struct InspectCommandTests {
  static let vectors = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Vectors").path
  static let attestation = vectors + "/attestations/ricardo-ios27.0.1-dev.b64"
  static let assertion = vectors + "/assertions/ricardo-ios27.0.1-dev.b64"
  static let keyIdentifier = "D++z1XCwnozS1QV79R28ApfUDde0xZo3HQg7SP4rt4U="
  static let app = "J4Y28BA299.swiss.ricardo.iphone.beta"
  static let challenge = "3Eo1sQZURkLbdhqclSvuWL5J3_9JxCjOfvafjPVWnRE"
  static let given = ["--app", app, "--key-id", keyIdentifier, "--challenge", challenge, "--at", "2026-10-09T07:25:21Z"]

  static func inspect(_ arguments: [String], input: [UInt8] = []) throws -> CommandRun {
    try CommandRun([GateProcess.binary, "inspect"] + arguments, input: input)
  }

  static func lastLine(_ run: CommandRun) -> String { run.text.split(separator: "\n").last.map(String.init) ?? "" }

  @Test func aRealAttestationIsAccepted() throws {
    let run = try Self.inspect(["attestation", Self.attestation] + Self.given)
    #expect(run.succeeded)
    #expect(run.text.hasSuffix("\naccepted\n"))
    #expect(run.text.contains("   5  key identifier         pass: \(Self.keyIdentifier)\n"))
    #expect(!run.text.contains("Not judged"))
    #expect(run.errors.isEmpty)
  }

  @Test(arguments: [
    ("--app", "J4Y28BA299.com.example.other", "rp_id_mismatch"),
    ("--key-id", "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=", "key_id_mismatch"),
    ("--challenge", "another", "nonce_mismatch"), ("--at", "2027-01-01", "certificate_chain_invalid"),
  ])
  func anotherExpectationIsRejectedWithItsCode(option: String, value: String, code: String) throws {
    var given = Self.given
    given[given.firstIndex(of: option)! + 1] = value
    let run = try Self.inspect(["attestation", Self.attestation] + given)
    #expect(run.end == .exited(1))
    #expect(Self.lastLine(run) == "rejected: \(code)")
    #expect(run.text.contains("(\(code))\n"))
  }

  @Test func environmentAndRootAreJudged() throws {
    #expect(Self.lastLine(try Self.inspect(["attestation", Self.attestation, "--environment", "development"] + Self.given)) == "accepted")
    let production = try Self.inspect(["attestation", Self.attestation, "--environment=production"] + Self.given)
    #expect(Self.lastLine(production) == "rejected: environment_not_allowed")
    let other = Self.vectors + "/certs/apple-root-ca-g3.pem"
    let root = try Self.inspect(["attestation", Self.attestation, "--trust-root", other] + Self.given)
    #expect(Self.lastLine(root) == "rejected: certificate_chain_invalid")
  }

  @Test func whatIsNotGivenIsSkipped() throws {
    let run = try Self.inspect(["attestation", Self.attestation, "--at", "2026-10-09T07:25:21Z"])
    #expect(run.succeeded)
    #expect(run.text.contains("RP ID hash             skipped: no --app\n"))
    #expect(run.text.hasSuffix("\nNot judged: client data hash, nonce, nonce in certificate, key identifier, RP ID hash\naccepted\n"))
  }

  @Test func programsGetOneJSONObject() throws {
    struct Report: Decodable {
      struct Step: Decodable {
        let name: String
        let result: String
      }
      let verdict: String
      let code: String?
      let steps: [Step]
      let fields: [String: String]
    }
    let good = try Self.inspect(["attestation", Self.attestation, "--json"] + Self.given)
    let accepted = try JSONDecoder().decode(Report.self, from: Data(good.output))
    #expect(accepted.verdict == "accepted")
    #expect(accepted.code == nil)
    #expect(accepted.fields["leaf_key_id"] == Self.keyIdentifier)
    #expect(Set(accepted.steps.map(\.result)) == ["pass", "skipped"])
    let bad = try Self.inspect(["assertion", Self.assertion, "--json", "--previous-counter", "1"])
    #expect(bad.end == .exited(1))
    let rejected = try JSONDecoder().decode(Report.self, from: Data(bad.output))
    #expect(rejected.verdict == "rejected")
    #expect(rejected.code == "counter_replayed")
    #expect(rejected.steps.first { $0.name == "counter" }?.result == "fail")
  }

  @Test func anAssertionIsReadFromStandardInputInAnyForm() throws {
    let folder = try TemporaryFolder()
    let clientData = folder.file("client-data")
    try Data("ABCDE".utf8).write(to: URL(filePath: clientData))
    let text = try Data(contentsOf: URL(filePath: Self.assertion))
    let binary = try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters))
    let options = ["--app", Self.app, "--key-id", Self.keyIdentifier, "--client-data", clientData, "--previous-counter", "0"]
    for input in [text, binary] {
      let run = try Self.inspect(["assertion", "-"] + options, input: Array(input))
      #expect(run.succeeded)
      #expect(run.text.hasSuffix("Not judged: challenge\naccepted\n"))
    }
  }

  @Test func whatCannotBeReadNamesTheMend() throws {
    let missing = try Self.inspect(["assertion", "/no/such/file"])
    #expect(missing.end == .exited(1))
    #expect(missing.errors == "attestgate inspect: /no/such/file cannot be read: No such file or directory\n")
    let json = try Self.inspect(["assertion", "-"], input: Array("{}".utf8))
    #expect(json.end == .exited(1))
    #expect(json.errors.contains("standard input holds no object: it is JSON"))
    #expect(json.text.isEmpty)
  }

  @Test(arguments: [
    [], ["attestation"], ["receipt", "x"], ["attestation", "x", "--app", "nodot"], ["attestation", "x", "--key-id", "short"],
    ["attestation", "x", "--at", "yesterday"], ["attestation", "x", "--environment", "simulated"],
    ["assertion", "x", "--public-key", "AAAA"],
    ["assertion", "x", "--previous-counter", "-1"], ["assertion", "-", "--client-data", "-"], ["assertion", "x", "--trust-root", "y"],
    ["attestation", "x", "--trust-root", "/no/such/file"],
  ])
  func wrongUsageExitsWith2(arguments: [String]) throws {
    let run = try Self.inspect(arguments)
    #expect(run.end == .exited(2))
    #expect(run.text.isEmpty)
    #expect(run.errors.contains("usage: attestgate inspect"))
  }

  @Test func whatATerminalWouldObeyIsNotPrinted() throws {
    // An assertion whose bundle version is ESC [ 2 J, which clears the screen.
    let name = Array("apple_bundle_version_01".utf8)
    let extensions: [UInt8] = [0xA1, 0x77] + name + [0x64, 0x1B, 0x5B, 0x32, 0x4A]
    let data = [UInt8](repeating: 0, count: 32) + [0x40, 0, 0, 0, 1] + extensions
    let signature = [UInt8](repeating: 0, count: 70)
    let assertion: [UInt8] =
      [0xA2, 0x69] + Array("signature".utf8) + [0x58, 70] + signature + [0x71] + Array("authenticatorData".utf8) + [
        0x58, UInt8(data.count),
      ] + data
    let run = try Self.inspect(["assertion", "-"], input: assertion)
    #expect(run.text.contains("\\u{1b}[2J"))
    #expect(!run.output.contains(0x1B))
  }
}
