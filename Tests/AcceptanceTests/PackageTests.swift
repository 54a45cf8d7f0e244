import Fixtures
import Foundation
import Testing

/// What the Debian package brings beside the program. `scripts/package --try` installs it.
@Suite struct PackageTests {
  private static let parts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../scripts/packaging").standardized

  private static func check(_ configuration: String) throws -> CommandRun {
    let folder = try TemporaryFolder()
    try folder.write(configuration, to: "proxy.yaml")
    return try CommandRun([GateProcess.binary, "check", folder.file("proxy.yaml")])
  }

  private static func configuration() throws -> String {
    try String(contentsOf: parts.appending(path: "proxy.yaml"), encoding: .utf8)
  }

  /// The unit runs `check` first: what the package installs must not serve before somebody has written it.
  @Test func theInstalledConfigurationServesNothing() throws {
    let run = try Self.check(Self.configuration())
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("proxy.yaml:1:1: the file configures nothing"), "\(run.errors)")
  }

  /// Its own words say which lines these are: those that begin with `#name`, or with `#` and more than one space.
  @Test func theInstalledConfigurationServesOnceItsLinesAreInForce() throws {
    let lines = try Self.configuration().split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix("#") && (!line.hasPrefix("# ") || line.hasPrefix("#  ")) ? line.dropFirst() : line
    }
    let run = try Self.check(lines.joined(separator: "\n"))
    #expect(run.succeeded, "\(run.errors)")
    #expect(!run.text.contains("warning"), "\(run.text)")
  }

  @Test func theManPageHasEveryCommand() throws {
    let page = try CommandRun([Self.parts.appending(path: "man-page").path, GateProcess.binary, "1790000000"])
    #expect(page.succeeded, "\(page.errors)")
    let sections = Set(page.text.split(separator: "\n").filter { $0.hasPrefix(".SS ") }.map { $0.dropFirst(4) })
    let listed = try CommandRun([GateProcess.binary, "--help"]).text.split(separator: "\n").filter { $0.hasPrefix("  ") }
    #expect(listed.count >= 7)
    for line in listed { #expect(sections.contains(line.dropFirst(2).prefix { $0 != " " }), "\(line)") }
    for name in ["inspect assertion", "keys revoke", "device enroll"] { #expect(sections.contains(name[...]), "\(name)") }
    #expect(page.text.contains(#"\-\-timeout SECONDS"#))
  }
}
