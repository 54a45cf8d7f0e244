@testable import EventLoop
import Foundation
import Testing

@Suite struct InputFileTests {
  @Test func aFileIsReadWholeUpToItsLimit() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "attestgate-input-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try Data(bytes).write(to: URL(filePath: path))
    #expect(try InputFile.read(path, bytesMax: 200_000) == bytes)
    #expect(throws: FileFailure(errno: EFBIG)) { try InputFile.read(path, bytesMax: 199_999) }
    #expect(throws: FileFailure(errno: EFBIG)) { try InputFile.read("/dev/zero", bytesMax: 1 << 20) }
  }

  @Test func whatCannotBeReadSaysWhy() {
    #expect(throws: FileFailure(errno: ENOENT)) { try InputFile.read("/no/such/file", bytesMax: 1) }
    #expect(throws: FileFailure(errno: EISDIR)) { try InputFile.read("/", bytesMax: 1) }
    #expect(FileFailure(errno: ENOENT).description == "No such file or directory")
    for path in ["/", "/dev/null"] {
      let failure = #expect(throws: FileFailure.self) { try InputFile.readRegular(path, bytesMax: 1) }
      #expect(failure?.description == "it is no regular file")
    }
  }
}
