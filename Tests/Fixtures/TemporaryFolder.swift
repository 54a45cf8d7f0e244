import Foundation
import Glibc

/// A fresh folder of its own that is gone when nobody holds it any more.
public final class TemporaryFolder: Sendable {
  /// Absolute path, without a final slash.
  public let path: String

  /// Makes the folder.
  public init() throws {
    var template = Array("/tmp/attestgate-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw FixtureFailure("mkdtemp: errno \(errno)") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a file in it.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult
  public func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: file(name), atomically: false, encoding: .utf8)
    return file(name)
  }

  /// What a file holds; empty when it is not there.
  public func read(_ name: String) -> String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)) ?? ""
  }
}
