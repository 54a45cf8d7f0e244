import Cryptography
import EventLoop
import FoundationEssentials

/// Files that proxy.yaml names.
enum ReferencedFile {
  /// `path`, taken from the folder of the file that names it.
  static func path(_ path: String, besides file: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let slash = file.lastIndex(of: "/") else { return path }
    return file[...slash] + path
  }

  /// The certificates in a PEM file, or what is wrong with it.
  static func certificates(at path: String) -> Result<[Certificate], Wrong> {
    let text: [UInt8]
    do throws(FileFailure) {
      text = try InputFile.readRegular(path, bytesMax: 1 << 20)
    } catch {
      return .failure(Wrong("the file \(path) cannot be read (\(error))"))
    }
    do throws(CertificateFailure) {
      return .success(try Certificate.all(pem: text.span))
    } catch {
      return .failure(Wrong("the file \(path) must hold certificates in PEM form and nothing else (\(error))"))
    }
  }

  /// Why no log could be appended to at `path`; nil when it could.
  static func problem(appendingTo path: String) -> String? {
    let manager = FileManager.default
    if let attributes = try? manager.attributesOfItem(atPath: path) {
      if attributes[.type] as? FileAttributeType == .typeDirectory { return "\(path) is a folder; name a file in it" }
      return manager.isWritableFile(atPath: path) ? nil : "\(path) cannot be written to"
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return manager.isWritableFile(atPath: folder) ? nil : "no file can be made in \(folder); make the folder first"
  }
}
