import FoundationEssentials

/// A URL as an app has it: where to connect, what to ask for, and what `URL.path` makes of it.
public struct RequestURL: Sendable, Equatable {
  /// Whether it is `https`.
  public var isSecure: Bool
  /// Name or address, without brackets.
  public var host: String
  /// TCP port; 80, or 443 for `https`, when the URL names none.
  public var port: UInt16
  /// The value of the Host field: as written, an address of IPv6 in brackets, no default port.
  public var authority: String
  /// The raw path, at least `/`.
  public var path: String
  /// The raw query without `?`; nil when there is none.
  public var query: String?

  /// Nil unless `text` is an absolute `http` or `https` URL without user information and fragment.
  public init?(_ text: String) {
    guard !text.contains("#"), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
    guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else { return nil }
    isSecure = scheme == "https://"
    let defaultPort: UInt16 = isSecure ? 443 : 80
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard let (host, port) = Self.split(authority, defaultPort: defaultPort) else { return nil }
    self.host = host
    self.port = port
    let name = host.contains(":") ? "[\(host)]" : host
    self.authority = port == defaultPort ? name : "\(name):\(port)"
    let target = rest.dropFirst(authority.count)
    let path = target.prefix { $0 != "?" }
    self.path = path.isEmpty ? "/" : String(path)
    query = target.count > path.count ? String(target.dropFirst(path.count + 1)) : nil
  }

  private static func split(_ authority: Substring, defaultPort: UInt16) -> (host: String, port: UInt16)? {
    guard !authority.contains("@") else { return nil }
    var host = authority
    var portText = Substring()
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<end]
      portText = authority[authority.index(after: end)...]
      guard portText.isEmpty || portText.hasPrefix(":") else { return nil }
    } else if let colon = authority.firstIndex(of: ":") {
      host = authority[..<colon]
      portText = authority[colon...]
    }
    guard !host.isEmpty else { return nil }
    if portText.count <= 1 { return (String(host), defaultPort) }
    guard let port = UInt16(portText.dropFirst()), port > 0 else { return nil }
    return (String(host), port)
  }

  /// The request target in origin-form.
  public var target: String { path + (query.map { "?" + $0 } ?? "") }

  /// Another place at the same origin.
  public func at(target: String) -> RequestURL {
    var other = self
    let path = target.prefix { $0 != "?" }
    other.path = String(path)
    other.query = target.count > path.count ? String(target.dropFirst(path.count + 1)) : nil
    return other
  }

  /// What Foundation's `URL.path` is: percent-decoded, without one final slash.
  public var decodedPath: String { URL(string: "http://host" + path)?.path ?? path }
}
