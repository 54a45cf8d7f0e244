import Foundation
import Testing

/// Every seed, and whatever a fuzzer ever found, goes through the fuzzers' checks in every run of the tests.
@Suite struct ReplayTests {
  @Test(arguments: Fuzzer.all.map(\.name))
  func seedsAndFindingsKeepEveryPromise(name: String) throws {
    let fuzzer = try #require(Fuzzer.named(name))
    let inputs = try files("Seeds/\(name)") + files("Findings/\(name)") + vectors(name)
    #expect(!inputs.isEmpty)
    for input in inputs {
      do throws(Broken) {
        try fuzzer.check(Array(input.bytes.prefix(fuzzer.inputBytesMax)))
      } catch {
        Issue.record("\(input.name): \(error)")
      }
    }
  }

  @Test func aBrokenPromiseIsToldWithWhatBrokeIt() {
    #expect(throws: Broken.self) { try requireEqual([1], [2], "other content") }
    #expect(throws: Broken.self) { try require(false, "") }
  }

  private struct Input {
    var name: String
    var bytes: [UInt8]
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

  private func files(_ folder: String) throws -> [Input] {
    let folder = Self.folder.appending(path: folder)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return try names.sorted().map { Input(name: $0, bytes: Array(try Data(contentsOf: folder.appending(path: $0)))) }
  }

  /// What real devices signed.
  private func vectors(_ name: String) throws -> [Input] {
    guard name == "attestation" || name == "assertion" else { return [] }
    return try files("../Vectors/\(name)s").map { input in
      Input(name: input.name, bytes: Array(try #require(Data(base64Encoded: Data(input.bytes.filter { $0 != 0x0A })))))
    }
  }
}
