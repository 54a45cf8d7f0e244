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
  // The body is what lies in the file and then what lies in memory. Memory is moved to the file when it is over its limit; if the disk
  // fails then, it stays where it is.
  private var file: TemporaryFile?
  private var fileByteCount = 0
  private var memory = ByteQueue()
  private var hash: SHA256? = SHA256()

  /// Whether the disk failed.
  private(set) var hasFailed = false
  /// Bytes taken so far.
  var byteCount: Int { fileByteCount + memory.count }

  init(bytesMax: Int, memoryBytesMax: Int, folder: String) {
    self.bytesMax = bytesMax
    self.memoryBytesMax = memoryBytesMax
    self.folder = folder
  }

  /// Takes the next bytes. Whatever the outcome, they are kept, so that a monitored route can go on with them; nothing but `taken` asks
  /// for more.
  func take(_ bytes: Span<UInt8>) -> Outcome {
    hash?.update(bytes)
    memory.append(bytes)
    if byteCount > bytesMax { return .tooLarge }
    guard memory.count <= memoryBytesMax - fileByteCount || moveMemoryToFile() else {
      hasFailed = true
      return .failed
    }
    return .taken
  }

  private func moveMemoryToFile() -> Bool {
    if file == nil { file = try? TemporaryFile(folder: folder) }
    let offset = fileByteCount
    guard let file, memory.withReadable({ file.write($0, at: offset) }) else { return false }
    fileByteCount += memory.count
    memory.removeAll()
    if offset == 0 { memory.releaseStorageIfEmpty() }
    return true
  }

  /// SHA-256 of everything that was taken; to be asked once.
  func digest() -> SHA256Digest {
    guard let hash = hash.take() else { preconditionFailure("a body's digest is asked once") }
    return hash.finalize()
  }

  /// Whether it lies in memory whole.
  var isInMemory: Bool { fileByteCount == 0 }

  /// Moves a body that lies in memory to `queue`.
  func moveMemory(to queue: inout ByteQueue) {
    precondition(isInMemory, "a part of the body lies in a file")
    queue.move(memory.count, from: &memory)
  }

  /// Gives memory and file back: the body has gone out, and its answer may take long.
  func discard() {
    file = nil
    fileByteCount = 0
    memory.removeAll()
    memory.releaseStorageIfEmpty()
  }

  /// Appends up to `count` bytes from `offset` on to `queue`, of which so many must be there; false when the disk fails.
  func read(_ count: Int, at offset: Int, into queue: inout ByteQueue) -> Bool {
    let fromFile = min(count, max(0, fileByteCount - offset))
    if fromFile > 0 {
      guard let file, file.read(fromFile, at: offset, into: &queue) else { return false }
    }
    let start = offset + fromFile - fileByteCount
    if fromFile < count { memory.withReadable { queue.append($0.extracting(start..<start + count - fromFile)) } }
    return true
  }
}
