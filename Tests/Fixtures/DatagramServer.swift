import Glibc

/// A Unix socket that takes datagrams, as a service manager's does.
public final class DatagramServer: Sendable {
  private let descriptor: CInt

  /// At a path, or at an abstract name behind `@`.
  public init(_ name: String) throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      bytes.copyBytes(from: name.utf8)
      if name.hasPrefix("@") { bytes[0] = 0 }
    }
    let length = socklen_t(2 + name.utf8.count)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    guard result == 0 else { throw FixtureFailure("cannot bind \(name): errno \(errno)") }
    // Tests that block may hold up for long whatever is to send one.
    LoopbackSocket.setTimeout(descriptor, milliseconds: 120_000)
  }

  deinit { close(descriptor) }

  /// How many datagrams come within the time.
  public func count(withinMilliseconds milliseconds: Int) throws -> Int {
    let end = monotonicMilliseconds() + milliseconds
    var count = 0
    while case let rest = end - monotonicMilliseconds(), rest > 0 {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, CInt(rest)) > 0 else { break }
      _ = try receive()
      count += 1
    }
    return count
  }

  /// The lines of the next datagram.
  public func receive() throws -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { throw FixtureFailure("no datagram came: errno \(errno)") }
    return String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
