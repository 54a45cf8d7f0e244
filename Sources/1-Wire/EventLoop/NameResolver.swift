import CLinux

/// Turns host names into addresses, on a thread of its own: getaddrinfo blocks.
public final class NameResolver: Sendable {
  private let thread = BackgroundThread(name: "resolver", queueMax: 256)

  /// A resolver with its thread.
  public init() {}

  /// Every TCP address of `host`, in the system's order; empty when there is none. A numeric address needs no look-up.
  public func resolve(host: String, port: UInt16) async -> [SocketAddress] {
    if let address = SocketAddress(host: host, port: port) { return [address] }
    return await thread.run { Self.lookUp(host: host, port: port) } ?? []
  }

  private static func lookUp(host: String, port: UInt16) -> [SocketAddress] {
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return [] }
    defer { unsafe freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var entry = unsafe list
    while let current = unsafe entry {
      var storage = sockaddr_storage()
      let length = unsafe min(Int(current.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
      unsafe memcpy(&storage, current.pointee.ai_addr, length)
      if let address = SocketAddress(storage), !addresses.contains(address) { addresses.append(address) }
      unsafe entry = current.pointee.ai_next
    }
    return addresses
  }
}
