import Testing

@testable import Store

@Suite struct RedisSettingsTests {
  @Test(
    arguments: [
      ("redis://127.0.0.1:6379/0", "127.0.0.1", 6_379, 0, nil, nil),
      ("redis://redis", "redis", 6_379, 0, nil, nil),
      ("redis://redis/", "redis", 6_379, 0, nil, nil),
      ("redis://[::1]:7000/12", "::1", 7_000, 12, nil, nil),
      ("redis://[fe80::1]", "fe80::1", 6_379, 0, nil, nil),
      ("redis://:secret@h:1/2", "h", 1, 2, nil, "secret"),
      ("redis://gate:p%40ss%2Fw%3Frd@h", "h", 6_379, 0, "gate", "p@ss/w?rd"),
      ("redis://gate:a@b@h", "h", 6_379, 0, "gate", "a@b"),
    ] as [(String, String, UInt16, Int, String?, String?)])
  func aURLNamesServerDatabaseAndUser(
    url: String, host: String, port: UInt16, database: Int, user: String?, password: String?
  ) throws {
    let settings = try RedisSettings(url: url)
    #expect(settings.endpoint == .tcp(host: host, port: port))
    #expect(settings.database == database)
    #expect(settings.user == user)
    #expect(settings.password == password)
  }

  @Test(arguments: [
    ("unix:/run/redis.sock", "/run/redis.sock", 0), ("unix:///run/redis.sock", "/run/redis.sock", 0), ("unix:/r.sock?db=3", "/r.sock", 3),
  ])
  func aURLNamesAUnixSocket(url: String, path: String, database: Int) throws {
    let settings = try RedisSettings(url: url)
    #expect(settings.endpoint == .unix(path: path))
    #expect(settings.database == database)
  }

  @Test(arguments: [
    "", "127.0.0.1:6379", "http://h", "rediss://", "redis://", "redis://:6379", "redis://h:0", "redis://h:65536", "redis://h:x",
    "redis://h/x", "redis://h/-1", "redis://h/0/1", "redis://h/0?timeout=1", "redis://h#x", "redis://secret@h", "redis://:%zz@h",
    "redis://::1:6379", "redis://[::1", "redis://[::1]x", "redis://a b", "unix:run.sock", "unix://run.sock", "unix:/r?x=1", "unix:/r?db=",
  ])
  func anythingElseIsRefusedWithAMend(url: String) {
    let failure = #expect(throws: RedisURLFailure.self) { try RedisSettings(url: url) }
    #expect(failure?.description.isEmpty == false)
  }

  @Test func aURLMayAskForTLS() throws {
    let settings = try RedisSettings(url: "rediss://:secret@redis.internal/2")
    #expect(settings.usesTLS && settings.database == 2 && settings.password == "secret")
    #expect(settings.endpoint == .tcp(host: "redis.internal", port: 6_379))
    #expect(try !RedisSettings(url: "redis://redis.internal").usesTLS)
  }

  @Test func aFailureNeverRepeatsThePassword() {
    let failure = #expect(throws: RedisURLFailure.self) { try RedisSettings(url: "redis://u:hunter2@h:notaport") }
    #expect(failure?.description.contains("hunter2") == false)
  }
}
