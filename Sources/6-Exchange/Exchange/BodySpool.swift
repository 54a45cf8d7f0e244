import Bytes
import Cryptography
import EventLoop

/// A request body that is read whole before the upstream sees a byte of it: in memory first, beyond a limit in a temporary file,
/// digested as it comes.
final class BodySpool {
  enum Outcome {
    case taken
    /// It is longer than the route admits.
    case tooLarge
    /// The disk is full, or failed.
    case failed
  }

  private let bytesMax: Int
  private let memoryBytesMax: Int
  private let folder: String
  private var memory = ByteQueue()
  private var file: TemporaryFile?
  private var hash: SHA256? = SHA256()

  /// Whether the disk failed.
  private(set) var hasFailed = false
  /// Bytes taken so far.
  private(set) var byteCount = 0

  init(bytesMax: Int, memoryBytesMax: Int, folder: String) {
    self.bytesMax = bytesMax
    self.memoryBytesMax = memoryBytesMax
    self.folder = folder
  }

  /// Takes the next bytes. What is too large is kept all the same, so that a monitored route can go on with it.
  func take(_ bytes: Span<UInt8>) -> Outcome {
    guard store(bytes) else {
      hasFailed = true
      return .failed
    }
    hash?.update(bytes)
    byteCount += bytes.count
    return byteCount > bytesMax ? .tooLarge : .taken
  }

  private func store(_ bytes: Span<UInt8>) -> Bool {
    if file == nil {
      if byteCount + bytes.count <= memoryBytesMax {
        memory.append(bytes)
        return true
      }
      guard let fresh = try? TemporaryFile(folder: folder), memory.withReadable({ fresh.write($0, at: 0) }) else { return false }
      file = fresh
      memory = ByteQueue()
    }
    return file?.write(bytes, at: byteCount) ?? false
  }

  /// SHA-256 of everything that was taken; to be asked once.
  func digest() -> SHA256Digest {
    guard let hash = hash.take() else { preconditionFailure("a body's digest is asked once") }
    return hash.finalize()
  }

  /// Whether it lies in memory whole.
  var isInMemory: Bool { file == nil }

  /// Moves a body that lies in memory to `queue`.
  func moveMemory(to queue: inout ByteQueue) {
    queue.move(memory.count, from: &memory)
  }

  /// Appends up to `count` bytes of a body that lies in a file; false when the disk fails.
  func read(_ count: Int, at offset: Int, into queue: inout ByteQueue) -> Bool {
    file?.read(count, at: offset, into: &queue) ?? false
  }
}
