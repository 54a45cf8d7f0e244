import Fixtures
import Glibc

/// A server whose queue is full: it neither takes connections nor refuses them.
final class SilentServer: Sendable {
  let port: UInt16
  private let listener: CInt
  private let fillers: [CInt]

  init() throws {
    port = try FreePort.next()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let listener = Self.socket()
    let isListening = Self.with(&address) { bind(listener, $0, $1) } == 0 && listen(listener, 0) == 0
    guard isListening else { throw FixtureFailure("cannot listen: errno \(errno)") }
    // A queue of nothing takes one connection; packets of further ones are dropped.
    self.listener = listener
    fillers = (0..<3).map { _ in Self.socket(SOCK_NONBLOCK.rawValue) }
    for filler in fillers { _ = Self.with(&address) { connect(filler, $0, $1) } }
  }

  deinit {
    for filler in fillers { close(filler) }
    close(listener)
  }

  private static func socket(_ flags: UInt32 = 0) -> CInt {
    Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | flags), 0)
  }

  private static func with(_ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
