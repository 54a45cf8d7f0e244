import Foundation

/// What the kernel says of processes, read from /proc.
enum DirectoryListing {
  static func entries(_ path: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path) }

  /// Where a link leads; empty when there is none.
  static func target(_ path: String) -> String { (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? "" }

  static func text(_ path: String) -> String {
    guard let file = FileHandle(forReadingAtPath: path) else { return "" }
    defer { try? file.close() }
    return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
  }
}
