import Bytes
import Cryptography
import Fixtures
import Foundation
import Testing

@testable import Exchange

/// A body that is read whole before anybody sees a byte of it.
@Suite struct BodySpoolTests {
  private static func spool(_ pieces: [[UInt8]], max: Int = .max, memory: Int = 100, folder: String = "/tmp") -> (
    BodySpool, [BodySpool.Outcome]
  ) {
    let spool = BodySpool(bytesMax: max, memoryBytesMax: memory, folder: folder)
    return (spool, pieces.map { spool.take($0.span) })
  }

  private static func contents(_ spool: BodySpool, step: Int) -> [UInt8]? {
    var queue = ByteQueue()
    var offset = 0
    while offset < spool.byteCount {
      let count = min(step, spool.byteCount - offset)
      guard spool.read(count, at: offset, into: &queue) else { return nil }
      offset += count
    }
    return queue.copied()
  }

  @Test(arguments: [0, 1, 99, 100, 101, 5_000, 200_000]) func everyByteComesBackWithTheDigestOfTheWhole(size: Int) {
    let body = pattern(size)
    let pieces = stride(from: 0, to: size, by: 37).map { Array(body[$0..<min($0 + 37, size)]) }
    let (spool, outcomes) = Self.spool(pieces)
    #expect(outcomes.allSatisfy { $0 == .taken })
    #expect(spool.byteCount == size)
    #expect(spool.isInMemory == (size <= 100))
    #expect(Self.contents(spool, step: 64) == body)
    let isDigest = spool.digest() == SHA256.digest(body.span)
    #expect(isDigest)
  }

  @Test func aBodyInMemoryIsMovedWithoutAFile() {
    let (spool, _) = Self.spool([Array("one ".utf8), Array("apple".utf8)], folder: "/nonexistent")
    var queue = ByteQueue()
    spool.moveMemory(to: &queue)
    #expect(queue.copied() == Array("one apple".utf8))
  }

  @Test(arguments: [1_000, 10]) func aBodyOverTheLimitIsToldAtOnceAndKept(memory: Int) {
    let (spool, outcomes) = Self.spool([pattern(60), pattern(40), pattern(1)], max: 100, memory: memory)
    #expect(outcomes == [.taken, .taken, .tooLarge])
    #expect(!spool.hasFailed)
    #expect(Self.contents(spool, step: 7) == pattern(60) + pattern(40) + pattern(1))
  }

  @Test func withoutAFolderItSaysSoAndKeepsWhatItTook() {
    let (spool, outcomes) = Self.spool([pattern(60), pattern(50)], folder: "/nonexistent/folder")
    #expect(outcomes == [.taken, .failed])
    #expect(spool.hasFailed)
    #expect(Self.contents(spool, step: 33) == pattern(60) + pattern(50))
  }

  @Test func nothingOfAFileIsLeftInItsFolder() throws {
    let folder = try TemporaryFolder()
    let (spool, _) = Self.spool([pattern(5_000)], folder: folder.path)
    #expect(!spool.isInMemory)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func aDigestIsAskedOnce() async {
    await #expect(processExitsWith: .failure) {
      let spool = BodySpool(bytesMax: 10, memoryBytesMax: 10, folder: "/tmp")
      _ = spool.digest()
      _ = spool.digest()
    }
  }
}
