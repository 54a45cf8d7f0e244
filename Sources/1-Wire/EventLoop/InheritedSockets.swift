import CLinux

/// Listening sockets that whoever started this process has opened for it: systemd (sd_listen_fds(3)), or the gate that ran before.
///
/// `LISTEN_PID` is this process's number, `LISTEN_FDS` how many there are, from descriptor 3 on, and `LISTEN_FDNAMES` their names,
/// with a colon between them.
public struct InheritedSockets: ~Copyable, Sendable {
  /// The first descriptor that is handed on.
  static let firstDescriptor: Int32 = 3
  static let countMax = 1_024

  private struct Entry: Sendable {
    var descriptor: Int32
    var name: InheritedName
  }

  private var entries: [Entry] = []
  /// What was counted among them and is none, for the operator.
  private var wrong: [String] = []

  /// Takes what the environment says over, once in the life of the process.
  public init(environment: (String) -> String?) {
    guard let process = environment("LISTEN_PID").flatMap({ Int32($0) }), process == getpid(),
      let count = environment("LISTEN_FDS").flatMap({ Int($0) }), 1...Self.countMax ~= count
    else { return }
    let names = (environment("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
    let isFromGate = environment(Successor.readyVariable) != nil
    for index in 0..<count {
      let descriptor = Self.firstDescriptor + Int32(index)
      // One that is not open now will be something of ours soon, and must not be taken for a socket, or closed, then.
      guard clinux_is_open(descriptor) != 0 else { continue }
      guard clinux_is_listening_stream(descriptor) != 0 else {
        wrong.append("the inherited descriptor \(descriptor) is no stream socket that listens: it is closed")
        _ = CLinux.close(descriptor)
        continue
      }
      clinux_set_close_on_exec(descriptor)
      let name = InheritedName(index < names.count ? String(names[index]) : "", isFromGate: isFromGate)
      entries.append(Entry(descriptor: descriptor, name: name))
    }
    let missing = count - entries.count - wrong.count
    if missing > 0 { wrong.append("LISTEN_FDS counts \(count) sockets from descriptor 3 on, and \(missing) of those are not open") }
  }

  deinit { for entry in entries { _ = CLinux.close(entry.descriptor) } }

  /// The socket that was opened for `wanted`, whose place proxy.yaml writes as `bind`: one that has it as its name, or listens there.
  public mutating func take(_ wanted: SocketAddress, bind: String) -> ListeningSocket? {
    let place = entries.firstIndex { $0.name.bind == bind } ?? entries.firstIndex { ListeningSocket.address(of: $0.descriptor) == wanted }
    guard let place else { return nil }
    let entry = entries.remove(at: place)
    return ListeningSocket(inherited: entry.descriptor, name: entry.name)
  }

  /// Where a socket that nobody took has this port, as proxy.yaml would write it: nobody else can listen there.
  public func bind(withPort port: UInt16) -> String? {
    for entry in entries {
      guard let address = ListeningSocket.address(of: entry.descriptor), !address.isUnix, address.port == port else { continue }
      return address.host.contains(":") ? "[\(address.host)]:\(port)" : "\(address.host):\(port)"
    }
    return nil
  }

  /// Takes out those that nobody took.
  public mutating func takeRest() -> UnusedSockets {
    defer { entries = [] }
    return UnusedSockets(
      sockets: entries.compactMap { ListeningSocket(inherited: $0.descriptor, name: $0.name) }, wrong: wrong)
  }
}

/// Inherited sockets that are no listener's. They are kept until this process serves: until then they may be the process's before.
public struct UnusedSockets: Sendable {
  private let sockets: [ListeningSocket]
  private let wrong: [String]

  init(sockets: [ListeningSocket], wrong: [String]) {
    self.sockets = sockets
    self.wrong = wrong
  }

  /// What the operator should know.
  public var warnings: [String] {
    wrong
      + sockets.map { socket in
        let address = socket.address
        let place = address.isUnix ? address.host : "\(address.host) port \(address.port)"
        return "an inherited socket, \(place), is no listener's: it is closed"
      }
  }

  /// Has nobody listen there any more, unless a service manager does: whoever connects is refused instead of waiting in a queue that the
  /// process before, which drains, keeps open and does not look at. To be called once this process serves and that one has had the time to
  /// take what waits there: it would be reset.
  public func close() {
    for socket in sockets {
      socket.takeOver()
      socket.stop()
    }
  }
}

/// The name under which a listening socket is handed on: its `bind` of proxy.yaml, whose colons are escaped since the list has them
/// between its names.
struct InheritedName: Sendable, Equatable {
  private static let foreignSuffix = "@manager"

  var bind: String
  /// Whether it belongs to a service manager, which keeps the file of a Unix socket.
  var isForeign: Bool

  init(bind: String, isForeign: Bool) {
    self.bind = bind
    self.isForeign = isForeign
  }

  /// From the list, which a service manager made, or a gate.
  init(_ text: String, isFromGate: Bool) {
    let hasSuffix = text.hasSuffix(Self.foreignSuffix)
    isForeign = hasSuffix || !isFromGate
    let escaped = hasSuffix ? String(text.dropLast(Self.foreignSuffix.count)) : text
    bind = escaped.replacing("%3A", with: ":").replacing("%25", with: "%")
  }

  var text: String {
    bind.replacing("%", with: "%25").replacing(":", with: "%3A") + (isForeign ? Self.foreignSuffix : "")
  }
}
