import CLinux

/// Tells a service manager how this process fares (sd_notify(3)): datagrams of lines `NAME=value` to a Unix socket.
public struct ServiceNotification: Sendable {
  private let path: [UInt8]

  /// To the socket that `NOTIFY_SOCKET` names: a path, or an abstract name behind `@`. Nil when it is neither.
  public init?(socket name: String) {
    var path = Array(name.utf8)
    guard let first = path.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"), 2...107 ~= path.count else { return nil }
    if first == UInt8(ascii: "@") { path[0] = 0 }
    self.path = path
  }

  /// Sends the lines. A service manager that is busy, so that its queue is full, is waited for, a second at most: a lost `READY=1` would
  /// be the end of the service.
  public func send(_ lines: String...) {
    let text = Array(lines.joined(separator: "\n").utf8)
    _ = unsafe clinux_send_datagram(path, path.count, text, text.count)
  }
}
