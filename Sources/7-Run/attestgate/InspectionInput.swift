import AppAttest
import EventLoop

/// The files that `inspect` reads.
enum InspectionInput {
  /// Why a file is of no use, and the mend.
  struct Failure: Error {
    var message: String
  }

  /// More than any object or client data: 16 KiB of attestation are 22 KiB of base64.
  static let bytesMax = 1 << 20

  static func bytes(of file: String) throws(Failure) -> [UInt8] {
    let name = file == "-" ? "standard input" : file
    do throws(FileFailure) { return try InputFile.read(file, bytesMax: bytesMax) } catch {
      throw Failure(message: "\(name) cannot be read: \(error)")
    }
  }

  /// The object in a file, whether it is there as base64 or as it is.
  static func object(_ file: String) throws(Failure) -> [UInt8] {
    let input = try bytes(of: file)
    do throws(ObjectText.Failure) { return try ObjectText.object(in: input) } catch {
      throw Failure(message: "\(file == "-" ? "standard input" : file) holds no object: \(error)")
    }
  }
}
