import Bytes
public import TLS

/// How to reach Redis: `store.redis` of proxy.yaml, with every default filled in.
public struct RedisSettings: Sendable, Equatable {
  /// Where Redis listens.
  public enum Endpoint: Sendable, Hashable {
    /// Host name or address, without brackets.
    case tcp(host: String, port: UInt16)
    /// A Unix socket's path.
    case unix(path: String)
  }

  /// Where Redis listens.
  public var endpoint: Endpoint
  /// Whether it is spoken to over TLS (`rediss://`).
  public var usesTLS = false
  /// Whom Redis is verified against, and what it is shown (`tls`); nil without TLS.
  public var tls: TLSClientIdentity?
  /// The database that SELECT chooses.
  public var database = 0
  /// The ACL user; nil is the default user.
  public var user: String?
  /// The user's password, or `requirepass`; nil sends no AUTH.
  public var password: String?
  /// Begins every key (`prefix`).
  public var prefix = "attestgate:"
  /// For connecting and for each command (`timeout`).
  public var timeoutMilliseconds = 1_000
  /// Commands a worker may have in flight (`max_in_flight`).
  public var inFlightMax = 4_096
  /// The longest that a challenge lives (the larger of `challenges.assert_ttl` and `attest_ttl`): secrets are kept so long after their day.
  public var challengeSecondsMax = 900

  /// The defaults of config.md.
  public init(endpoint: Endpoint) { self.endpoint = endpoint }

  /// From a URL: `redis://[[user]:password@]host[:port][/database]`, the same with `rediss://` for TLS, or `unix:/path[?db=database]`.
  ///
  /// User and password are percent-decoded. Throws what is wrong with it and how to mend it; the text never repeats the password.
  public init(url: String) throws(RedisURLFailure) {
    if url.hasPrefix("unix:") {
      self = try Self.unix(String(url.dropFirst(5)))
    } else if url.hasPrefix("redis://") {
      self = try Self.tcp(String(url.dropFirst(8)))
    } else if url.hasPrefix("rediss://") {
      self = try Self.tcp(String(url.dropFirst(9)))
      usesTLS = true
    } else {
      throw RedisURLFailure("must begin with redis://, rediss:// or unix:, such as redis://127.0.0.1:6379/0 or unix:/run/redis/redis.sock")
    }
  }

  private static func unix(_ rest: String) throws(RedisURLFailure) -> RedisSettings {
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var path = String(parts[0])
    if path.hasPrefix("///") { path.removeFirst(2) }
    guard path.hasPrefix("/"), !path.hasPrefix("//"), path.utf8.count <= 107 else {
      throw RedisURLFailure("unix: needs an absolute path of at most 107 bytes, such as unix:/run/redis/redis.sock")
    }
    var settings = RedisSettings(endpoint: .unix(path: path))
    if parts.count == 2 {
      guard parts[1].hasPrefix("db="), let database = number(parts[1].dropFirst(3), maximum: Self.databaseMax) else {
        throw RedisURLFailure("after a path only ?db=NUMBER is understood")
      }
      settings.database = database
    }
    return settings
  }

  private static func tcp(_ rest: String) throws(RedisURLFailure) -> RedisSettings {
    guard !rest.contains("?"), !rest.contains("#") else {
      throw RedisURLFailure("has no parameters: the database is the path (write ? and # of a password as %3F and %23)")
    }
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = rest[..<slash]
    let at = authority.lastIndex(of: "@")
    var settings = RedisSettings(endpoint: try server(at.map { authority[authority.index(after: $0)...] } ?? authority))
    if let at { try settings.takeCredentials(authority[..<at]) }
    let path = rest[slash...].dropFirst()
    if !path.isEmpty {
      guard let database = number(path, maximum: Self.databaseMax) else {
        throw RedisURLFailure("the path is the database's number, as in redis://127.0.0.1:6379/0")
      }
      settings.database = database
    }
    return settings
  }

  private static let databaseMax = 1_000_000

  private static func server(_ text: Substring) throws(RedisURLFailure) -> Endpoint {
    var host = text
    var port = 6_379
    let colon: Substring.Index?
    if text.hasPrefix("[") {
      guard let bracket = text.firstIndex(of: "]") else {
        throw RedisURLFailure("an IPv6 address needs both brackets, as in redis://[::1]:6379")
      }
      host = text[text.index(after: text.startIndex)..<bracket]
      let rest = text[text.index(after: bracket)...]
      guard rest.isEmpty || rest.hasPrefix(":") else {
        throw RedisURLFailure("only a port may follow the brackets, as in redis://[::1]:6379")
      }
      colon = rest.isEmpty ? nil : rest.startIndex
    } else {
      colon = text.firstIndex(of: ":")
      if let colon { host = text[..<colon] }
    }
    if let colon {
      guard let number = number(text[text.index(after: colon)...], maximum: 65_535), number > 0 else {
        throw RedisURLFailure("the port must be a number from 1 to 65535 (an IPv6 address is written in brackets)")
      }
      port = number
    }
    guard !host.isEmpty, !host.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { throw RedisURLFailure("names no host") }
    return .tcp(host: String(host), port: UInt16(port))
  }

  private mutating func takeCredentials(_ text: Substring) throws(RedisURLFailure) {
    guard let colon = text.firstIndex(of: ":") else {
      throw RedisURLFailure("write redis://:PASSWORD@host, or redis://USER:PASSWORD@host")
    }
    guard let user = Self.percentDecoded(text[..<colon]), let password = Self.percentDecoded(text[text.index(after: colon)...]) else {
      throw RedisURLFailure("the user or the password holds an invalid percent escape (write % as %25)")
    }
    self.user = user.isEmpty ? nil : user
    self.password = password
  }

  private static func number(_ text: Substring, maximum: Int) -> Int? {
    guard text.utf8.count <= 9, text.utf8.allSatisfy(ASCII.isDigit), let number = Int(text) else { return nil }
    return number <= maximum ? number : nil
  }

  private static func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(Hexadecimal.value), let low = rest.popFirst().flatMap(Hexadecimal.value) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// What is wrong with a Redis URL, and the mend.
public struct RedisURLFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// A sentence's end, to follow the key's name: `must begin with redis:// …`.
  public let description: String

  init(_ description: String) { self.description = description }
}
