import EventLoop
import FoundationEssentials

/// A folder in which an authority or a device keeps its files.
struct Folder {
  let path: String

  /// Largest file that is read, in bytes.
  private static let fileBytesMax = 1 << 20

  func path(of name: String) -> String { path + "/" + name }

  /// Makes the folder if it is not there.
  func make() throws(DeviceFailure) {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw .file(path: path, reason: "cannot be made")
    }
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(of: name)) }

  /// The bytes of a file; where there is none, `maker` is the command that makes it.
  func read(_ name: String, madeBy maker: String) throws(DeviceFailure) -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path(of: name)) else {
      throw .file(path: path(of: name), reason: has(name) ? "cannot be read" : "does not exist; attestgate device \(maker) makes it")
    }
    guard data.count <= Self.fileBytesMax else { throw .damaged(path: path(of: name)) }
    return [UInt8](data)
  }

  /// Puts a file that anybody may read in its place.
  func write(_ text: String, to name: String) throws(DeviceFailure) {
    do {
      try Data(text.utf8).write(to: URL(filePath: path(of: name)), options: .atomic)
    } catch {
      throw .file(path: path(of: name), reason: "cannot be written")
    }
  }

  /// Puts a file with a secret in its place: mode 0600, never half written.
  func writePrivately(_ bytes: [UInt8], to name: String) throws(DeviceFailure) {
    do throws(FileFailure) {
      try PrivateFile.write(bytes.span, to: path(of: name))
    } catch {
      throw .file(path: path(of: name), reason: "cannot be written (errno \(error.errno))")
    }
  }
}
