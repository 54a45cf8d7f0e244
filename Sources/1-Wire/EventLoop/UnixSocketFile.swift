import CLinux

/// The file by which clients find a listening Unix socket.
struct UnixSocketFile: Sendable {
  /// Its owner and group may connect (0660): the proxy before the gate is put into the gate's group.
  static let mode: mode_t = 0o660

  private let path: String
  // Which file it was that we made: another may have taken its place since.
  private let device: dev_t
  private let inode: ino_t

  /// The file that a bind has just made at `path`, with its rights; nil when it is gone already.
  init?(made path: String) {
    guard unsafe chmod(path, Self.mode) == 0, let status = Self.status(of: path) else { return nil }
    self.path = path
    device = status.st_dev
    inode = status.st_ino
  }

  /// Removes the file, if it is still the one that was made.
  func remove() {
    guard let status = Self.status(of: path), status.st_dev == device, status.st_ino == inode else { return }
    _ = unsafe unlink(path)
  }

  /// Removes what a process that ended left at `path`: only a socket, and only one on which nobody answers.
  static func removeStale(at path: String) {
    guard let status = status(of: path), status.st_mode & mode_t(S_IFMT) == mode_t(S_IFSOCK), let address = SocketAddress(unixPath: path)
    else { return }
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard probe >= 0 else { return }
    defer { _ = CLinux.close(probe) }
    let error = unsafe address.withNative { native, length in
      unsafe clinux_connect(probe, native, length) == 0 ? 0 : clinux_errno()
    }
    // Anything else, a full queue too, says that somebody is there.
    if error == ECONNREFUSED { _ = unsafe unlink(path) }
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status : nil
  }
}
