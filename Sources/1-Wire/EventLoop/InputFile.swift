import CLinux

/// Files that a command is told to read, of a size that nobody vouches for.
public enum InputFile {
  /// All of the file at `path`, `-` being standard input; it fails with EFBIG when there are more than `bytesMax` bytes.
  public static func read(_ path: String, bytesMax: Int) throws(FileFailure) -> [UInt8] {
    if path == "-" { return try readAll(STDIN_FILENO, bytesMax: bytesMax) }
    let descriptor = unsafe clinux_open_input(path)
    guard descriptor >= 0 else { throw FileFailure(errno: clinux_errno()) }
    defer { _ = close(descriptor) }
    return try readAll(descriptor, bytesMax: bytesMax)
  }

  /// All of the regular file at `path`; it fails with EINVAL when something else lies there, with EFBIG when it is longer than `bytesMax`.
  public static func readRegular(_ path: String, bytesMax: Int) throws(FileFailure) -> [UInt8] {
    let descriptor = unsafe clinux_open_regular(path)
    guard descriptor >= 0 else { throw FileFailure(errno: clinux_errno()) }
    defer { _ = close(descriptor) }
    return try readAll(descriptor, bytesMax: bytesMax)
  }

  private static func readAll(_ descriptor: Int32, bytesMax: Int) throws(FileFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: min(bytesMax + 1, 64 << 10))
    while true {
      // The kernel writes at most the chunk's size, while the buffer is lent.
      let count = unsafe chunk.withUnsafeMutableBytes { unsafe CLinux.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 {
        if clinux_errno() == EINTR { continue }
        throw FileFailure(errno: clinux_errno())
      }
      if count == 0 { return bytes }
      guard bytes.count + count <= bytesMax else { throw FileFailure(errno: EFBIG) }
      bytes += chunk[..<count]
    }
  }
}

extension FileFailure: CustomStringConvertible {
  /// The system's words, such as "No such file or directory".
  public var description: String {
    if errno == EINVAL { return "it is no regular file" }
    guard let text = unsafe strerror(errno) else { return "error \(errno)" }
    return unsafe String(cString: text)
  }
}
