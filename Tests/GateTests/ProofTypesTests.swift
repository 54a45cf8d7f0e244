import Fixtures
import Foundation
import Testing

/// Compiles snippets against the built modules: what rests on a proof cannot be had without it.
@Suite struct ProofTypesTests {
  /// The compiler's errors for a snippet, one a line; empty when it compiles.
  private static func errors(_ snippet: String) throws -> [String] {
    let folder = try TemporaryFolder()
    let file = try folder.write(snippet, to: "Snippet.swift")
    // Consuming twice is found behind the type checker, so the snippet is compiled and not only type-checked.
    let compiler = ["swiftc", "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-diagnostic-style", "llvm"]
    let run = try CommandRun(
      compiler + ["-I", modules()] + foreignModuleMaps() + [file], environment: ProcessInfo.processInfo.environment, milliseconds: 120_000)
    let errors = run.errors.split(separator: "\n").filter { $0.contains("error: ") }.map(String.init)
    try #require(run.end != nil, "the compiler did not end")
    try #require(run.succeeded == errors.isEmpty, "the compiler failed without an error: \(run.errors)")
    return errors
  }

  /// The folder of the modules that this test was built with: beside the test program.
  private static func modules() throws -> String {
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let places = ([program] + CommandLine.arguments).map { URL(filePath: $0).deletingLastPathComponent().appending(path: "Modules").path }
    let place = places.first { FileManager.default.fileExists(atPath: $0 + "/Gate.swiftmodule") }
    return try #require(place, "no Modules folder beside \(program)")
  }

  private static func foreignModuleMaps() throws -> [String] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let foreign = root.appending(path: "Sources/0-Foreign").path
    let built = URL(filePath: try modules()).deletingLastPathComponent().path
    return try FileManager.default.contentsOfDirectory(atPath: foreign).flatMap { name in
      // A library's map is written by hand, that of our own C code by the build.
      let maps = ["\(foreign)/\(name)/module.modulemap", "\(built)/\(name).build/module.modulemap"]
      return maps.filter { FileManager.default.fileExists(atPath: $0) }.prefix(1).flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    }
  }

  private static let imports = "import AppAttest\nimport Cryptography\nimport Gate\nimport HTTP\nimport Store\n"

  /// Without it every other test here could pass because nothing compiles.
  @Test func whatTheGateHandsOutCanBeUsedOnce() throws {
    let errors = try Self.errors(
      Self.imports + """
        func forward(_ admission: consuming Admission) {}
        func answer(_ refusal: Refusal) {}
        func use(_ gate: Gate, _ facts: RequestFacts, _ policy: SharedPolicy, _ body: ReadBody) async {
          switch await gate.examine(gate.read(facts, policy: policy), hint: nil) {
          case .needsBody(let examined): await use(gate, await gate.judge(examined, body: .read(body)))
          case .judged(let judgement): await use(gate, judgement)
          }
          if let admission = Admission.open(under: policy) { forward(admission) }
        }
        func use(_ gate: Gate, _ judgement: consuming Judgement) async {
          switch consume judgement {
          case .admit(let admission): forward(admission)
          case .refuse(let refusal): answer(refusal)
          case .passed(let passed):
            switch await gate.admit(passed) {
            case .admit(let admission): forward(admission)
            case .refuse(let refusal): answer(refusal)
            }
          }
        }
        func prove(_ key: P256PublicKey, _ signature: [UInt8], _ assertion: Assertion, _ digest: SHA256Digest) {
          guard let proof = key.verify(signature: signature.span, message: signature.span) else { return }
          _ = assertion.verdict(signature: proof, clientDataHash: digest, rpIDHash: digest)
        }
        """)
    #expect(errors == [])
  }

  @Test(arguments: [
    (
      "an admission made by hand", "'Admission' initializer is inaccessible due to 'fileprivate' protection level",
      "func forge(_ decision: Decision) { _ = Admission(.open, decision) }"
    ),
    (
      "a verified admission", "'verified' is inaccessible due to 'internal' protection level", "func forge() { _ = Admission.verified }"
    ),
    (
      "a monitored admission", "'monitored' is inaccessible due to 'internal' protection level", "func forge() { _ = Admission.monitored }"
    ),
    (
      "an admission while the store is away", "'unjudged' is inaccessible due to 'internal' protection level",
      "func forge() { _ = Admission.unjudged }"
    ),
    (
      "an admission used twice", "'admission' consumed more than once",
      """
      func forward(_ admission: consuming Admission) {}
      func forge(_ admission: consuming Admission) {
        forward(admission)
        forward(admission)
      }
      """
    ),
    (
      "an admission copied", "'admission' consumed more than once",
      """
      func forge(_ admission: consuming Admission) -> (Int, Int) {
        let first = admission
        let second = admission
        return (first.decision.counterDelta ?? 0, second.decision.counterDelta ?? 0)
      }
      """
    ),
    (
      "an examination made by hand", "'ExaminedRequest' initializer is inaccessible due to 'internal' protection level",
      "func forge() -> ExaminedRequest { ExaminedRequest() }"
    ),
    (
      "an examination answered twice", "'examined' consumed more than once",
      """
      func forge(_ gate: Gate, _ examined: consuming ExaminedRequest) async {
        _ = await gate.judge(examined, body: .tooLarge)
        _ = await gate.judge(examined, body: .tooLarge)
      }
      """
    ),
    (
      "a passed request made by hand", "'PassedRequest' initializer is inaccessible due to 'internal' protection level",
      "func forge() -> PassedRequest { PassedRequest() }"
    ),
    (
      "a passed request committed twice", "'passed' consumed more than once",
      """
      func forge(_ gate: Gate, _ passed: consuming PassedRequest) async {
        _ = await gate.admit(passed)
        _ = await gate.admit(passed)
      }
      """
    ),
    (
      "a verified assertion made by hand", "'VerifiedAssertion' initializer is inaccessible due to 'fileprivate' protection level",
      """
      func forge(_ assertion: Assertion, _ key: KeyIdentifier, _ digest: SHA256Digest) {
        _ = VerifiedAssertion(assertion, keyIdentifier: key, clientDataHash: digest)
      }
      """
    ),
    (
      "a signature's proof made by hand", "'SignatureValid' initializer is inaccessible due to 'fileprivate' protection level",
      "func forge(_ digest: SHA256Digest) { _ = SignatureValid(publicKeyDigest: digest, messageDigest: digest) }"
    ),
    (
      "a signature's proof used for two assertions", "'proof' consumed more than once",
      """
      func forge(_ assertion: Assertion, _ proof: consuming SignatureValid, _ digest: SHA256Digest) {
        _ = assertion.verdict(signature: proof, clientDataHash: digest, rpIDHash: digest)
        _ = assertion.verdict(signature: proof, clientDataHash: digest, rpIDHash: digest)
      }
      """
    ),
    (
      "a recovered key made by hand", "'RecoveredKey' initializer is inaccessible due to 'fileprivate' protection level",
      "func forge(_ digest: SHA256Digest) { _ = RecoveredKey(x963: [], digest: digest, messageDigest: digest) }"
    ),
    (
      "a challenge's mark made by hand", "'ChallengeMark' initializer is inaccessible due to 'internal' protection level",
      "func forge(_ digest: SHA256Digest) { _ = ChallengeMark(challenge: digest, expiresAt: 0, runTag: 0, fingerprint: digest) }"
    ),
  ])
  func aForgeryDoesNotCompile(name: String, diagnostic: String, snippet: String) throws {
    let errors = try Self.errors(Self.imports + snippet)
    #expect(errors.contains { $0.contains(diagnostic) }, "\(name): \(errors)")
  }

  /// Not even another file of the gate's own module can make one.
  @Test func theGateItselfMakesAdmissionsInOneFile() throws {
    let errors = try Self.errors(
      "import HTTP\n@testable import Gate\nfunc forge(_ decision: Decision) { _ = Admission(.open, decision) }")
    #expect(errors.contains { $0.contains("'Admission' initializer is inaccessible due to 'fileprivate' protection level") })
  }
}
