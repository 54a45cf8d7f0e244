import CLinux
import Synchronization

/// Turns host names into addresses, on a thread of its own: getaddrinfo blocks, for many seconds where no name server answers.
public final class NameResolver: Sendable {
  /// How long addresses are used before they are looked up anew.
  static let freshMilliseconds = 30_000
  /// How much longer they are used while that look-up is under way; later they may be somebody else's.
  static let staleMilliseconds = 30_000
  /// How long a look-up that found nothing is not repeated where older addresses can be used meanwhile.
  static let retryMilliseconds = 1_000

  private struct Name: Hashable, Sendable {
    var host: String
    var port: UInt16
  }

  private struct Entry: Sendable {
    var addresses: [SocketAddress] = []
    var freshUntil = Instant(nanoseconds: 0)
    var isUnderWay = false
    var waiting: [RemoteSignal] = []
  }

  private let thread = BackgroundThread(name: "resolver", queueMax: 256)
  private let entries = Mutex<[Name: Entry]>([:])
  private let lookUp: @Sendable (_ host: String, _ port: UInt16) -> [SocketAddress]

  /// A resolver with its thread, which asks the system.
  public convenience init() { self.init(lookUp: Self.askSystem) }

  /// A resolver with its thread, which asks `lookUp`.
  init(lookUp: @escaping @Sendable (_ host: String, _ port: UInt16) -> [SocketAddress]) { self.lookUp = lookUp }

  /// Every TCP address of `host`, in the system's order; empty when there is none. A numeric address needs no look-up.
  ///
  /// Waits for as long as the system does. Nothing is remembered.
  public func resolve(host: String, port: UInt16) async -> [SocketAddress] {
    if let address = SocketAddress(host: host, port: port) { return [address] }
    return await thread.run { self.lookUp(host, port) } ?? []
  }

  /// As ``resolve(host:port:)``, but remembered for half a minute, and waited for until `deadline` at the latest.
  ///
  /// One look-up of a name runs at a time, whoever asks. Who asks while addresses are being looked up anew goes on with those that were
  /// good until now, and so does who waited for nothing.
  public func addresses(of host: String, port: UInt16, on loop: EventLoop, until deadline: Instant) async -> [SocketAddress] {
    if let address = SocketAddress(host: host, port: port) { return [address] }
    let name = Name(host: host, port: port)
    let signal = Signal(loop: loop)
    let known = entries.withLock { entries in
      var entry = entries[name] ?? Entry()
      let now = Instant.now
      if entry.freshUntil <= now && !entry.isUnderWay {
        entry.isUnderWay = thread.start { self.finish(name, self.lookUp(host, port)) }
      }
      let isTooOld = entry.addresses.isEmpty || entry.freshUntil.advanced(byMilliseconds: Self.staleMilliseconds) <= now
      let waits = isTooOld && entry.isUnderWay
      if waits { entry.waiting.append(RemoteSignal(signal, on: loop)) }
      entries[name] = entry
      return waits ? nil : entry.addresses
    }
    if let known { return known }
    _ = await loop.wait(for: .signal(signal), until: deadline)
    return entries.withLock { $0[name]?.addresses } ?? []
  }

  /// Has whoever asks next wait for a new look-up: the addresses did not serve.
  public func distrust(host: String, port: UInt16) {
    entries.withLock { $0[Name(host: host, port: port)]?.freshUntil = Instant(nanoseconds: 0) }
  }

  private func finish(_ name: Name, _ found: [SocketAddress]) {
    let waiting = entries.withLock { entries in
      var entry = entries[name] ?? Entry()
      // A resolver that fails for a moment does not take away what worked until now.
      if !found.isEmpty { entry.addresses = found }
      entry.freshUntil = Instant.now.advanced(byMilliseconds: found.isEmpty ? Self.retryMilliseconds : Self.freshMilliseconds)
      entry.isUnderWay = false
      defer { entries[name] = entry }
      let waiting = entry.waiting
      entry.waiting = []
      return waiting
    }
    for signal in waiting { signal.notify() }
  }

  private static func askSystem(host: String, port: UInt16) -> [SocketAddress] {
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
