import AppAttest
import Bytes
import Cryptography
import FoundationEssentials

// What `inspect` can be told. A step whose input is not given is skipped.
extension InspectCommand {
  typealias Option = CommandUsage.Option

  private static let app = Option(
    "--app", value: "PREFIX.bundle", "the app that should have made it, for example ABCDE12345.com.example.shop")
  private static let keyID = Option("--key-id", value: "B64", "the key identifier, as generateKey returned it")
  private static let challenge = Option("--challenge", value: "TEXT", "the challenge, as the app received it")
  private static let clientDataHash = Option(
    "--client-data-hash", value: "B64", "the hash that the app passed, where challenge or data are not at hand")
  private static let json = Option("--json", "prints one JSON object, for programs")

  static let attestationUsage = CommandUsage(
    name: "inspect attestation", operands: "FILE", operandCount: 1...1,
    summary:
      "Decodes the attestation object in FILE (base64 or binary; - is standard input), and judges it by Apple's steps. The last line\n"
      + "is \"accepted\", or \"rejected: <code>\" with the code of the first step that failed. What is not given is skipped.",
    options: [
      app, keyID, challenge, Option("--client-data", value: "FILE", "a file with the challenge's bytes, where they are not text"),
      clientDataHash,
      Option("--environment", value: "NAME", "development, production or any (the default)"),
      Option("--at", value: "TIME", "the clock, for example 2026-04-21T00:00:00Z; now unless given"),
      Option("--trust-root", value: "FILE", "the roots that are trusted instead of Apple's, as PEM"), json,
    ])

  static let assertionUsage = CommandUsage(
    name: "inspect assertion", operands: "FILE", operandCount: 1...1,
    summary:
      "Decodes the assertion in FILE (base64 or binary; - is standard input), and judges it by Apple's steps. The last line\n"
      + "is \"accepted\", or \"rejected: <code>\" with the code of the first step that failed. What is not given is skipped.",
    options: [
      app, keyID, Option("--public-key", value: "B64", "the key's uncompressed point, 65 bytes; the key identifier suffices"),
      Option("--client-data", value: "FILE", "the client data: the bytes that the app hashed and had signed"), clientDataHash, challenge,
      Option("--previous-counter", value: "N", "the highest counter so far"), json,
    ])

  static func attestation(_ given: Arguments) throws(UsageFailure) -> AttestationInspection {
    var inspection = AttestationInspection(at: try time(given))
    inspection.app = try app(given)
    inspection.keyIdentifier = try keyIdentifier(given)
    inspection.challenge = given.value("--challenge").map { Array($0.utf8) }
    if let file = given.value("--client-data") {
      guard inspection.challenge == nil else { throw UsageFailure("--challenge and --client-data are two names of one thing: give one") }
      inspection.challenge = try bytes(of: file, given)
    }
    inspection.clientDataHash = try clientDataHash(given)
    inspection.environments = try environments(given)
    if let file = given.value("--trust-root") { inspection.trustRoots = try certificates(in: file, given) }
    return inspection
  }

  static func assertion(_ given: Arguments) throws(UsageFailure) -> AssertionInspection {
    var inspection = AssertionInspection()
    inspection.app = try app(given)
    inspection.keyIdentifier = try keyIdentifier(given)
    if let text = given.value("--public-key") {
      guard let point = Base64.decode(text, maximum: 65), point.count == 65, point[0] == 4 else {
        throw UsageFailure("--public-key must be the base64 of an uncompressed point: 65 bytes, of which the first is 4")
      }
      inspection.publicKey = point
    }
    if let file = given.value("--client-data") { inspection.clientData = try bytes(of: file, given) }
    if let hash = try clientDataHash(given) {
      guard let digest = SHA256Digest(hash.span) else { throw UsageFailure("--client-data-hash must be the base64 of 32 bytes") }
      if let clientData = inspection.clientData, SHA256.digest(clientData.span) != digest {
        throw UsageFailure("--client-data-hash is not the SHA-256 of --client-data: give one of the two")
      }
      inspection.clientDataHash = digest
    }
    inspection.challenge = given.value("--challenge").map { Array($0.utf8) }
    inspection.previousCounter = try given.number("--previous-counter", in: 0...Int(UInt32.max)).map { UInt32($0) }
    return inspection
  }

  private static func app(_ given: Arguments) throws(UsageFailure) -> AppIdentity? {
    guard let text = given.value("--app") else { return nil }
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw UsageFailure("--app must be an App ID: the prefix (usually the team identifier), a dot, the bundle identifier")
    }
    return AppIdentity(prefix: parts[0], bundleIdentifier: parts[1])
  }

  private static func keyIdentifier(_ given: Arguments) throws(UsageFailure) -> KeyIdentifier? {
    guard let text = given.value("--key-id") else { return nil }
    guard let identifier = KeyIdentifier(base64: Array(text.utf8).span) else {
      throw UsageFailure("--key-id must be the base64 of 32 bytes, 44 characters, as generateKey returned it")
    }
    return identifier
  }

  /// Any number of bytes: there are apps that pass something else than a hash, Apple's published samples among them.
  private static func clientDataHash(_ given: Arguments) throws(UsageFailure) -> [UInt8]? {
    guard let text = given.value("--client-data-hash") else { return nil }
    guard let hash = Base64.decode(text, maximum: 4096) else { throw UsageFailure("--client-data-hash must be base64") }
    return hash
  }

  private static func environments(_ given: Arguments) throws(UsageFailure) -> Set<AttestationEnvironment> {
    switch given.value("--environment") {
    case nil, "any": return Set(AttestationEnvironment.allCases)
    case "development": return [.development]
    case "production": return [.production]
    default: throw UsageFailure("--environment must be development, production or any")
    }
  }

  private static func time(_ given: Arguments) throws(UsageFailure) -> Int {
    guard let text = given.value("--at") else { return Int(Date().timeIntervalSince1970) }
    guard let unixSeconds = UTCTime.unixSeconds(text) else {
      throw UsageFailure("--at must be a moment in UTC, such as 2026-04-21T00:00:00Z, or a day, such as 2026-04-21")
    }
    return unixSeconds
  }

  private static func certificates(in file: String, _ given: Arguments) throws(UsageFailure) -> [Certificate] {
    let text = try bytes(of: file, given)
    do throws(CertificateFailure) { return try Certificate.all(pem: text.span) } catch {
      throw UsageFailure("\(file) must hold certificates in PEM form, -----BEGIN CERTIFICATE-----, and nothing else (\(error))")
    }
  }

  private static func bytes(of file: String, _ given: Arguments) throws(UsageFailure) -> [UInt8] {
    guard file != "-" || given.operands[0] != "-" else { throw UsageFailure("standard input can be read once only") }
    do throws(InspectionInput.Failure) { return try InspectionInput.bytes(of: file) } catch { throw UsageFailure(error.message) }
  }
}
