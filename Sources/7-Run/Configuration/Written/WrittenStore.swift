import Store

/// `store:`.
struct WrittenStore {
  var place: Place
  var path: String
  var redis: WrittenRedis?
  var hasRedis: Bool
  var hasMemory: Bool

  init(_ section: Section) {
    place = section.place
    path = section.path
    redis = section.section("redis").map(WrittenRedis.init)
    hasRedis = section.has("redis")
    hasMemory = section.has("memory")
    section.section("memory")?.finish()
    section.finish()
  }
}

/// `store.redis:`.
struct WrittenRedis {
  var url: Placed<RedisSettings>?
  var prefix: Placed<String>?
  var tls: WrittenClientTLS?
  var timeout: Placed<Int>?
  var user: Placed<String>?
  var password: Placed<String>?
  var inFlightMax: Placed<Int>?

  init(_ section: Section) {
    url = section.value("url") { (text: String) throws(Wrong) -> RedisSettings in
      do throws(RedisURLFailure) {
        return try RedisSettings(url: text)
      } catch {
        throw Wrong(error.description)
      }
    }
    if !section.has("url") { section.missing("url", "write where Redis listens, such as \"redis://127.0.0.1:6379/0\"") }
    tls = section.section("tls").map(WrittenClientTLS.init)
    prefix = section.value("prefix") { (text: String) throws(Wrong) -> String in
      // Braces would move the hash tag of a key's name, white space would make names that cannot be typed.
      guard text.utf8.count <= 64, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x7B && $0 != 0x7D }) else {
        throw Wrong("must be at most 64 visible ASCII characters without braces")
      }
      return text
    }
    timeout = section.value("timeout", Quantity.duration(10...60_000))
    user = section.value("user", Self.credential)
    password = section.value("password", Self.credential)
    inFlightMax = section.value("max_in_flight", Quantity.number(1...1_000_000))
    section.finish()
  }

  private static func credential(_ text: String) throws(Wrong) -> String {
    guard text.utf8.count <= 1_024 else { throw Wrong("is longer than 1024 bytes") }
    return text
  }
}
