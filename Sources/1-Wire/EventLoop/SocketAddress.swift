public import Bytes
import CLinux

/// Where a socket connects to or listens.
public struct SocketAddress: Sendable, Hashable {
  enum Family: Sendable, Hashable {
    case ipv4(UInt32, UInt16)
    case ipv6([UInt8], UInt16, scope: UInt32)
    case unix(String)
  }

  let family: Family

  /// A numeric IPv4 or IPv6 address, without brackets; nil when `host` is a name.
  public init?(host: String, port: UInt16) {
    var v4 = in_addr()
    if unsafe inet_pton(AF_INET, host, &v4) == 1 {
      family = .ipv4(UInt32(bigEndian: v4.s_addr), port)
      return
    }
    var v6 = [UInt8](repeating: 0, count: 16)
    guard unsafe inet_pton(AF_INET6, host, &v6) == 1 else { return nil }
    family = .ipv6(v6, port, scope: 0)
  }

  /// A Unix socket; nil when the path does not fit into the kernel's 107 bytes or holds a NUL.
  public init?(unixPath path: String) {
    guard !path.isEmpty, path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
    family = .unix(path)
  }

  /// From the kernel's form; nil for another family.
  init?(_ storage: sockaddr_storage) {
    var storage = storage
    switch Int32(storage.ss_family) {
    case AF_INET:
      self.family = unsafe withUnsafeBytes(of: &storage) { bytes in
        let address = unsafe bytes.loadUnaligned(as: sockaddr_in.self)
        return .ipv4(UInt32(bigEndian: address.sin_addr.s_addr), UInt16(bigEndian: address.sin_port))
      }
    case AF_INET6:
      self.family = unsafe withUnsafeBytes(of: &storage) { bytes in
        let address = unsafe bytes.loadUnaligned(as: sockaddr_in6.self)
        let octets = (8..<24).map { unsafe bytes[$0] }
        return .ipv6(octets, UInt16(bigEndian: address.sin6_port), scope: address.sin6_scope_id)
      }
    case AF_UNIX: self.family = .unix("")
    default: return nil
    }
  }

  var domain: Int32 {
    switch family {
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    case .unix: AF_UNIX
    }
  }

  /// Port, 0 for a Unix socket.
  public var port: UInt16 {
    switch family {
    case .ipv4(_, let port), .ipv6(_, let port, _): port
    case .unix: 0
    }
  }

  /// The address without the port; nil for a Unix socket.
  public var ip: IPAddress? {
    switch family {
    case .ipv4(let address, _): IPAddress(ipv4: address)
    case .ipv6(let octets, _, _): IPAddress(networkOrder: octets.span)
    case .unix: nil
    }
  }

  /// Whether it is a Unix socket's.
  public var isUnix: Bool {
    if case .unix = family { true } else { false }
  }

  /// The address as text, without port: `127.0.0.1`, `::1`; an IPv4 address inside IPv6 is written as IPv4.
  public var host: String {
    switch family {
    case .ipv4(let address, _): return Self.dotted(address)
    case .ipv6(let octets, _, _):
      if octets[0..<10].allSatisfy({ $0 == 0 }), octets[10] == 0xFF, octets[11] == 0xFF {
        return Self.dotted(octets[12..<16].reduce(0) { $0 << 8 | UInt32($1) })
      }
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      guard unsafe inet_ntop(AF_INET6, octets, &text, socklen_t(text.count)) != nil else { return "::" }
      return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    case .unix(let path): return "unix:\(path)"
    }
  }

  private static func dotted(_ address: UInt32) -> String {
    "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
  }

  /// Lends the kernel's form.
  func withNative<Result>(_ body: (UnsafePointer<sockaddr_storage>, socklen_t) -> Result) -> Result {
    var storage = sockaddr_storage()
    let length: Int = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
      switch family {
      case .ipv4(let address, let port):
        var native = sockaddr_in()
        native.sin_family = sa_family_t(AF_INET)
        native.sin_port = port.bigEndian
        native.sin_addr.s_addr = address.bigEndian
        unsafe bytes.storeBytes(of: native, as: sockaddr_in.self)
        return MemoryLayout<sockaddr_in>.size
      case .ipv6(let octets, let port, let scope):
        var native = sockaddr_in6()
        native.sin6_family = sa_family_t(AF_INET6)
        native.sin6_port = port.bigEndian
        native.sin6_scope_id = scope
        unsafe bytes.storeBytes(of: native, as: sockaddr_in6.self)
        for (index, octet) in octets.enumerated() { unsafe bytes[8 + index] = octet }
        return MemoryLayout<sockaddr_in6>.size
      case .unix(let path):
        unsafe bytes.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
        for (index, octet) in path.utf8.enumerated() { unsafe bytes[2 + index] = octet }
        return 2 + path.utf8.count + 1
      }
    }
    return unsafe withUnsafePointer(to: storage) { unsafe body($0, socklen_t(length)) }
  }
}
