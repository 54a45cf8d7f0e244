import AppAttest
import Cryptography
import Fixtures
import Foundation
import Testing

/// `attestgate keys` on a real Redis, with records as the gate writes them.
@Suite struct KeysCommandTests {
  private let folder: TemporaryFolder
  private let server: RedisServer
  /// One key whose identifier begins with a plain character.
  private let key = Self.point { !$0.hasPrefix("-") && !$0.hasPrefix("+") }

  init() throws {
    folder = try TemporaryFolder()
    server = try RedisServer()
    try configure("redis: {url: \"\(server.url)\"}")
  }

  private static func point(where isWanted: (String) -> Bool = { _ in true }) -> (identifier: String, point: [UInt8]) {
    while true {
      let point = P256PrivateKey.generate().x963
      let identifier = KeyIdentifier(SHA256.digest(point.span)).base64
      if isWanted(identifier) { return (identifier, point) }
    }
  }

  private func configure(_ store: String) throws {
    try folder.write(
      """
      listeners: [{bind: 127.0.0.1:0}]
      store: {\(store)}
      apps: [{team_id: ABCDE12345, bundle_id: com.example.shop}]
      upstreams: {shop: {servers: ["http://127.0.0.1:1"]}}
      routes: [{path: /**, upstream: shop, gate: off}]
      """, to: "proxy.yaml")
  }

  private func enroll(_ key: (identifier: String, point: [UInt8]), app: String = "ABCDE12345.com.example.shop") throws {
    let name = key.identifier.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").prefix { $0 != "=" }
    var words = ["HSET", "attestgate:key:{\(name)}", "pub"].map { Array($0.utf8) }
    words.append(key.point)
    words += ["app", app, "env", "production", "status", "active", "ctr", "42", "enrolled_at", "1800000000"].map { Array($0.utf8) }
    words += ["bundle_version", "1.2\u{1B}[2J", "receipt", "123", "att"].map { Array($0.utf8) }
    words += [[UInt8](repeating: 0xAB, count: 32), Array("root".utf8), [UInt8](repeating: 0xCD, count: 32)]
    _ = try server.connect().command(words)
  }

  private func keys(_ arguments: String...) throws -> CommandRun {
    var arguments = arguments
    arguments.insert(contentsOf: ["--config", folder.file("proxy.yaml")], at: 1)
    return try CommandRun([GateProcess.binary, "keys"] + arguments)
  }

  @Test func everyKeyIsListedOnce() throws {
    var identifiers: Set<String> = []
    for _ in 0..<1_200 {
      let key = Self.point()
      identifiers.insert(key.identifier)
      try enroll(key)
    }
    try server.command("SET", "attestgate:secretive", "not a key")
    try server.command("SET", "other:key:{x}", "not ours")
    let run = try keys("list")
    let lines = run.text.split(separator: "\n")
    #expect(run.succeeded)
    #expect(run.errors.isEmpty)
    #expect(lines.first?.hasPrefix("KEY ID ") == true)
    #expect(lines.last == "1200 keys")
    #expect(lines.count == 1_202)
    #expect(Set(lines[1..<1_201].map { String($0.prefix { $0 != " " }) }) == identifiers)
  }

  @Test func anEmptyStoreHasNoKeys() throws {
    let run = try keys("list")
    #expect(run.succeeded)
    #expect(run.text.hasSuffix("\n0 keys\n"))
    #expect(try keys("list", "--json").text.isEmpty)
  }

  @Test func aListIsNarrowedByAppAndStatus() throws {
    try enroll(key)
    try enroll(Self.point(), app: "ABCDE12345.com.example.other")
    #expect(try keys("list", "--app", "ABCDE12345.com.example.shop").text.hasSuffix("\n1 key\n"))
    #expect(try keys("list", "--status", "revoked").text.hasSuffix("\n0 keys\n"))
    #expect(try keys("revoke", key.identifier).succeeded)
    let revoked = try keys("list", "--status=revoked", "--json")
    #expect(revoked.text.contains("\"key_id\":\"\(key.identifier)\""))
    #expect(revoked.text.split(separator: "\n").count == 1)
  }

  @Test func aKeyIsShownWithAllThatIsStored() throws {
    try enroll(key)
    let run = try keys("show", key.identifier)
    #expect(run.succeeded)
    let lines = run.text.split(separator: "\n").map(String.init)
    #expect(lines.contains("key identifier       \(key.identifier)"))
    #expect(lines.contains("status               active"))
    #expect(lines.contains("counter              42"))
    #expect(lines.contains("enrolled             2027-01-15T08:00:00Z"))
    #expect(lines.contains("last seen            never"))
    #expect(lines.contains("attestation SHA-256  " + String(repeating: "ab", count: 32)))
    // What came from a device never reaches the terminal as a command.
    #expect(lines.contains("bundle version       1.2\\u{1b}[2J"))
    let json = try #require(
      JSONSerialization.jsonObject(with: Data(try keys("show", "--json", key.identifier).output)) as? [String: Any])
    #expect(json["key_id"] as? String == key.identifier)
    #expect(json["counter"] as? Int == 42)
    #expect(json["receipt_bytes"] as? Int == 3)
    #expect(json["seen_at"] == nil)
  }

  @Test func aKeyIsRevokedAndRestored() throws {
    try enroll(key)
    #expect(try keys("revoke", key.identifier).text == "\(key.identifier) is revoked\n")
    #expect(try keys("show", key.identifier).text.contains("status               revoked\n"))
    #expect(try keys("revoke", key.identifier).succeeded)
    #expect(try keys("restore", "--json", key.identifier).text == "{\"key_id\":\"\(key.identifier)\",\"status\":\"active\"}\n")
    #expect(try keys("show", key.identifier).text.contains("status               active\n"))
  }

  @Test func anIdentifierMayBeInTheOtherAlphabetAndBeginWithAHyphen() throws {
    let key = Self.point { $0.hasPrefix("+") }
    try enroll(key)
    let other = key.identifier.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    #expect(try keys("revoke", "--", other).text == "\(key.identifier) is revoked\n")
  }

  @Test(arguments: ["show", "revoke", "restore"])
  func aKeyThatIsNotEnrolledIsSaidSo(command: String) throws {
    let run = try keys(command, key.identifier)
    #expect(run.end == .exited(1))
    #expect(run.errors == "attestgate keys: no key \(key.identifier) is enrolled in this store\n")
    #expect(run.text.isEmpty)
  }

  @Test func aDamagedRecordIsNamedAndTheOthersAreListed() throws {
    try enroll(key)
    let damaged = Self.point()
    try enroll((damaged.identifier, Self.point().point))
    let run = try keys("list")
    #expect(run.end == .exited(1))
    #expect(run.text.contains(key.identifier))
    #expect(run.errors.contains("the record of \(damaged.identifier) is damaged"))
  }

  @Test func aMemoryStoreHasNothingToLookAfter() throws {
    try configure("memory: {}")
    let run = try keys("list")
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("no other process reaches them"))
  }

  @Test func aStoreThatIsAwayIsSaidSo() throws {
    server.kill()
    let run = try keys("list")
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("cannot be reached: Connection refused"))
    try configure("redis: {url: \"unix:\(folder.file("nowhere.sock"))\"}")
    #expect(try keys("list").errors.contains("Redis has a socket only where its configuration says unixsocket"))
  }

  @Test func aConfigurationThatIsWrongIsToldWithItsPlace() throws {
    try folder.write("store: [", to: "proxy.yaml")
    let run = try keys("list")
    #expect(run.end == .exited(1))
    #expect(run.errors.contains("proxy.yaml:"))
  }

  @Test(arguments: [
    [], ["lst"], ["list", "x"], ["show"], ["show", "x"], ["show", "AAAA"], ["list", "--status", "gone"], ["revoke", "--force", "x"],
  ])
  func wrongUsageIsSaidSo(arguments: [String]) throws {
    let run = try CommandRun([GateProcess.binary, "keys"] + arguments)
    #expect(run.end == .exited(2))
    #expect(run.errors.contains("usage: attestgate keys"))
  }
}
