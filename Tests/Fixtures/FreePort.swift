import Glibc
import Synchronization

/// Ports for servers that tests start.
public enum FreePort {
  private static let handedOut = Mutex(Set<UInt16>())

  /// A TCP port of 127.0.0.1 that nobody uses, and that this process hands out once.
  ///
  /// It lies below the range from which the kernel takes ports for outgoing connections (32768 on), so that none of the many
  /// connections of tests that run side by side can take it between this call and the server's start.
  public static func next() throws -> UInt16 {
    for _ in 0..<1_000 {
      let port = UInt16.random(in: 10_240..<32_768)
      guard handedOut.withLock({ $0.insert(port).inserted }) else { continue }
      let descriptor = try LoopbackSocket.make()
      defer { close(descriptor) }
      if LoopbackSocket.bind(descriptor, port: port) { return port }
    }
    throw FixtureFailure("no free port")
  }
}

/// The few socket calls that fixtures share.
enum LoopbackSocket {
  static func make() throws -> CInt {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw FixtureFailure("socket: errno \(errno)") }
    return descriptor
  }

  /// A socket connected to, or bound at, a Unix socket's path.
  static func unix(_ path: String, _ call: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt) throws -> CInt {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw FixtureFailure("\(path) is too long for a socket") }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return try check(descriptor, call, &address, "\(path)")
  }

  /// A socket connected to a port of `::1`.
  static func connectedToIPv6(port: UInt16) throws -> CInt {
    let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6addr_loopback
    return try check(descriptor, { Glibc.connect($0, $1, $2) }, &address, "port \(port) of ::1")
  }

  private static func check<Address>(
    _ descriptor: CInt, _ call: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ address: inout Address, _ name: String
  ) throws -> CInt {
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) }
    }
    guard result == 0 else {
      let error = errno
      close(descriptor)
      throw FixtureFailure("\(name): errno \(error)")
    }
    return descriptor
  }

  static func bind(_ descriptor: CInt, port: UInt16, loopback number: UInt8 = 1) -> Bool {
    withAddress(port: port, loopback: number) { Glibc.bind(descriptor, $0, $1) } == 0
  }

  static func connect(_ descriptor: CInt, port: UInt16) -> Bool {
    withAddress(port: port) { Glibc.connect(descriptor, $0, $1) } == 0
  }

  /// The port that a bound socket has.
  static func port(of descriptor: CInt) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  static func setOption(_ descriptor: CInt, _ level: CInt, _ name: CInt, _ value: CInt) {
    var value = value
    setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// Reads and writes fail with EAGAIN after this long.
  static func setTimeout(_ descriptor: CInt, milliseconds: Int) {
    var time = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  private static func withAddress(port: UInt16, loopback number: UInt8 = 1, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(number)).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
