import CLinux
import Synchronization

/// A listening socket, opened once and shared by the workers.
///
/// One queue for all: closing one of several SO_REUSEPORT sockets would reset what waits in it.
public final class ListeningSocket: Sendable {
  /// What the kernel takes of an answer beyond what it can send at once. Without a bound it takes megabytes for a client that reads
  /// nothing, and a thousand such clients use up the memory that all connections share.
  static let unsentBytesMax: Int32 = 128 << 10

  let descriptor: Int32
  /// Where it listens, with the port that the kernel chose.
  public let address: SocketAddress
  private let file: UnixSocketFile?
  /// Whether a service manager opened it.
  private let isForeign: Bool
  /// Whether another process serves it, or may go on serving it: then it is not shut down here, and its file stays.
  private let isShared: Atomic<Bool>

  /// Binds and listens. Throws the kernel's errno: address in use, not permitted, not available.
  ///
  /// A Unix socket's file is made anew: one on which nobody answers any more is removed before.
  public init(_ wanted: SocketAddress) throws(SocketFailure) {
    if case .unix(let path) = wanted.family { UnixSocketFile.removeStale(at: path) }
    let descriptor = socket(wanted.domain, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .failed(clinux_errno()) }
    _ = clinux_set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    // Every connection has this from here.
    if wanted.domain != AF_UNIX { _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Self.unsentBytesMax) }
    // `[::]` serves IPv4 as well, whatever the system's default.
    if wanted.domain == AF_INET6 { _ = clinux_set_option(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    // The file is never there with other rights than it will have, whatever the process's umask.
    if wanted.domain == AF_UNIX { _ = fchmod(descriptor, UnixSocketFile.mode) }
    let bound = unsafe wanted.withNative { native, length in
      unsafe clinux_bind(descriptor, native, length) == 0 && listen(descriptor, 4096) == 0 ? 0 : clinux_errno()
    }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    guard bound == 0, unsafe clinux_getsockname(descriptor, &storage, &length) == 0 else {
      let error = bound == 0 ? clinux_errno() : bound
      _ = CLinux.close(descriptor)
      throw .failed(error)
    }
    self.descriptor = descriptor
    isForeign = false
    isShared = Atomic(false)
    if case .unix(let path) = wanted.family {
      file = UnixSocketFile(made: path)
      address = wanted
    } else {
      file = nil
      address = SocketAddress(storage) ?? wanted
    }
  }

  /// Takes over a socket that another process has opened; nil, and the descriptor closed, when it is none that listens.
  init?(inherited descriptor: Int32, name: InheritedName) {
    guard clinux_is_listening_stream(descriptor) != 0, let address = Self.address(of: descriptor) else {
      _ = CLinux.close(descriptor)
      return nil
    }
    clinux_set_nonblocking(descriptor)
    if address.domain != AF_UNIX { _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Self.unsentBytesMax) }
    self.descriptor = descriptor
    self.address = address
    isForeign = name.isForeign
    isShared = Atomic(true)
    if case .unix(let path) = address.family, !name.isForeign { file = UnixSocketFile(made: path) } else { file = nil }
  }

  deinit {
    removeFile()
    _ = CLinux.close(descriptor)
  }

  /// Where a socket listens, a Unix socket with its path.
  static func address(of descriptor: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    guard unsafe clinux_getsockname(descriptor, &storage, &length) == 0, let address = SocketAddress(storage) else { return nil }
    guard address.isUnix else { return address }
    var path = [CChar](repeating: 0, count: 108)
    unsafe clinux_unix_path(descriptor, &path)
    return SocketAddress(unixPath: String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)) ?? address
  }

  func inheritedName(bind: String) -> InheritedName { InheritedName(bind: bind, isForeign: isForeign) }

  /// Another process serves it from now on.
  public func handOver() { isShared.store(true, ordering: .relaxed) }

  /// This process serves it from now on, whoever opened it. Until then its failure must change nothing for the one before.
  public func takeOver() { isShared.store(isForeign, ordering: .relaxed) }

  private func removeFile() {
    if !isShared.load(ordering: .relaxed) { file?.remove() }
  }

  /// Refuses connections from now on, unless another process serves them; a Unix socket's file goes.
  public func stop() {
    guard !isShared.load(ordering: .relaxed) else { return }
    removeFile()
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// What an attempt to accept brought.
public enum AcceptOutcome {
  /// A connection.
  case connection(Socket)
  /// None is waiting.
  case wouldBlock
  /// This one failed before it was taken; try the next.
  case lost
  /// No descriptors or memory: stop accepting for a while. The kernel's errno.
  case exhausted(Int32)
}

/// One loop's share in a listening socket.
public final class Acceptor: WaitSource {
  /// What it accepts from.
  public let listener: ListeningSocket

  /// Watches `listener` on `loop`. Of several waiting loops the kernel wakes one (EPOLLEXCLUSIVE).
  public init(_ listener: ListeningSocket, loop: EventLoop) {
    self.listener = listener
    super.init(loop: loop)
    resume()
  }

  /// Whether ``close()`` was not called yet.
  public private(set) var isOpen = true

  /// Watches again after ``pause()``.
  public func resume() {
    guard slot < 0 else { return }
    // Level-triggered: what this loop leaves in the queue wakes the next one.
    _ = loop.register(self, descriptor: listener.descriptor, events: UInt32(CLINUX_EPOLLIN | CLINUX_EPOLLEXCLUSIVE))
  }

  /// Stops watching; what arrives waits in the kernel's queue.
  public func pause() {
    loop.unregister(self, descriptor: listener.descriptor)
  }

  /// Stops for good and wakes who waits.
  public func close() {
    isOpen = false
    pause()
    endAllWaits()
  }

  /// Whether so many descriptors are in use that no more connections should be taken: work that has begun needs the rest.
  public private(set) var isShortOfDescriptors = false

  /// Looks again whether descriptors have come free.
  public func checkDescriptors() {
    let probe = dup(listener.descriptor)
    isShortOfDescriptors = probe < 0 || probe >= DescriptorLimit.acceptMax
    if probe >= 0 { _ = CLinux.close(probe) }
  }

  /// Takes the next connection.
  public func accept() -> sending AcceptOutcome {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let descriptor = unsafe clinux_accept4(listener.descriptor, &storage, &length)
    guard descriptor >= 0 else {
      switch clinux_errno() {
      case EAGAIN:
        isReadable = false
        return .wouldBlock
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted(clinux_errno())
      default: return .lost
      }
    }
    if descriptor >= DescriptorLimit.acceptMax { isShortOfDescriptors = true }
    let peer = SocketAddress(storage) ?? listener.address
    if peer.domain != AF_UNIX { _ = clinux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
    guard let socket = Socket(descriptor: descriptor, peer: peer, loop: loop, isConnected: true) else { return .exhausted(ENOMEM) }
    return .connection(socket)
  }

  /// Ends this turn's accepting: the level-triggered event comes again while connections wait.
  public func endTurn() { isReadable = false }
}
