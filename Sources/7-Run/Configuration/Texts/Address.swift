import EventLoop
import Exchange
import Upstream

/// Addresses and the URLs of servers.
enum Address {
  /// `127.0.0.1:8080`, `[::]:8443`, `unix:/run/attestgate/http.sock`.
  static func bind(_ text: String) throws(Wrong) -> BindAddress {
    if let path = try unixPath(text) { return BindAddress(unixPath: path) }
    let parts = try split(text, example: "127.0.0.1:8080 or [::]:8443")
    guard let port = parts.port else { throw Wrong("needs a port, such as \"\(text):8080\"") }
    if parts.host == "*" || parts.host.isEmpty { throw Wrong("needs an address; write 0.0.0.0:\(port) or [::]:\(port) for every one") }
    guard SocketAddress(host: parts.host, port: port) != nil else {
      let mend = parts.host == "localhost" ? "; write 127.0.0.1:\(port) or [::1]:\(port)" : ", such as 127.0.0.1:8080 or [::]:8443"
      throw Wrong("must be an IP address and a port\(mend)")
    }
    return BindAddress(host: parts.host, port: port)
  }

  /// The absolute path behind `unix:`; nil when it is something else.
  private static func unixPath(_ text: String) throws(Wrong) -> String? {
    guard text.hasPrefix("unix:") else { return nil }
    let path = String(text.dropFirst(5))
    guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.hasPrefix("//") else {
      throw Wrong("must be unix: and the whole path of the socket, such as unix:/run/attestgate/http.sock, and is \"\(text)\"")
    }
    guard SocketAddress(unixPath: path) != nil else {
      throw Wrong("has a path longer than the 107 bytes of a socket's; choose a shorter one")
    }
    return path
  }

  /// `http://host`, `http://host:port`, `https://host`, `unix:/run/app.sock`.
  static func server(_ text: String) throws(Wrong) -> UpstreamSettings.Server {
    if let path = try unixPath(text) { return UpstreamSettings.Server(unixPath: path) }
    let usesTLS = text.hasPrefix("https://")
    guard usesTLS || text.hasPrefix("http://") else {
      throw Wrong(
        "must begin with http:// or https://, such as http://10.0.0.7:9000, or be a socket such as unix:/run/app.sock, and is \"\(text)\"")
    }
    let rest = text.dropFirst(usesTLS ? 8 : 7)
    if rest.contains("@") { throw Wrong("must not hold a user; set an Authorization header in request_headers") }
    if rest.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) {
      throw Wrong("must end with the host or its port: the path that was matched is the path that is forwarded")
    }
    let parts = try split(String(rest), example: "http://10.0.0.7:9000 or http://[fd00::7]:9000")
    try checkHost(parts.host)
    guard parts.port != 0 else { throw Wrong("must not have port 0") }
    return UpstreamSettings.Server(host: parts.host, port: parts.port ?? (usesTLS ? 443 : 80), usesTLS: usesTLS)
  }

  /// `host` or `host:port`, as a `Host` field has it.
  static func authority(_ text: String) throws(Wrong) -> String {
    let parts = try split(text, example: "api.example.com or api.example.com:8080")
    try checkHost(parts.host)
    return text
  }

  /// A name or an address, without a port.
  static func hostName(_ text: String) throws(Wrong) -> String {
    try checkHost(text)
    return text
  }

  private static func split(_ text: String, example: String) throws(Wrong) -> (host: String, port: UInt16?) {
    var host = text[...]
    var port: Substring?
    if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else { throw Wrong("needs both brackets of an IPv6 address, such as \(example)") }
      host = text[text.index(after: text.startIndex)..<bracket]
      let rest = text[text.index(after: bracket)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { throw Wrong("must be written as \(example), and is \"\(text)\"") }
      port = rest.isEmpty ? nil : rest.dropFirst()
      guard host.contains(":") else { throw Wrong("has brackets for what is no IPv6 address; write \(example)") }
    } else if let colon = text.firstIndex(of: ":") {
      host = text[..<colon]
      port = text[text.index(after: colon)...]
      if port!.contains(":") { throw Wrong("needs brackets around an IPv6 address, such as \(example)") }
    }
    guard let port else { return (String(host), nil) }
    guard port.utf8.count <= 5, port.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(port) else {
      throw Wrong("has a port that is no number from 0 to 65535; write \(example)")
    }
    return (String(host), number)
  }

  /// A name of letters, digits, hyphens, underscores and dots, or an address.
  private static func checkHost(_ host: String) throws(Wrong) {
    if host.contains(":"), SocketAddress(host: host, port: 1) == nil { throw Wrong("has an IPv6 address that is none: \"\(host)\"") }
    let isName = host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
      default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
      }
    }
    guard isName, !host.isEmpty, host.utf8.count <= 253 else { throw Wrong("names no host that could be reached: \"\(host)\"") }
  }
}
