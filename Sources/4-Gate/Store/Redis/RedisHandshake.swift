import Bytes
import EventLoop

/// What happens on a new connection before it takes commands: AUTH and SELECT, who the server is, the scripts, the secrets.
struct RedisHandshake {
  /// What an ACL must allow the gate's user, besides its keys; `config|get` only tells whether Redis saves to disk.
  static let aclRules =
    "+select +info +time +script|load +evalsha +eval +hmget +hgetall +hset +exists +get +set +scan"

  let connection: RedisConnection
  let settings: RedisSettings
  let loop: EventLoop

  /// Two round trips. Throws why this server cannot be used, and how to mend it.
  func perform() async throws(StoreFailure) -> RedisSession {
    let facts = try await introduce()
    guard facts.isPrimary else { throw refusal("Redis is a replica and takes no writes: connect to the primary") }
    var loads: [PendingReply] = []
    for script in RedisScripts.all {
      loads.append(
        try connection.send { output in
          output.append(commandOf: 3)
          output.append(word: "SCRIPT")
          output.append(word: "LOAD")
          output.append(word: script)
        })
    }
    let schedule = SecretSchedule(unixSeconds: facts.unixSeconds, challengeSecondsMax: settings.challengeSecondsMax)
    let prefix = Array(settings.prefix.utf8)
    let exchange = try SecretExchange(schedule, connection, prefix: prefix)
    await connection.pump(for: exchange.last, until: .never)
    var digests: [[UInt8]] = []
    for load in loads {
      let reply = try await load.reply(on: loop, until: .never)
      guard case .bytes(let digest) = reply, digest.count == 40 else { throw refused("SCRIPT LOAD", reply) }
      digests.append(digest)
    }
    let secrets = try await exchange.secrets(on: loop)
    return RedisSession(
      connection: connection, facts: facts, sealing: SealingSecrets(secrets: secrets, runTag: facts.runTag), scriptDigests: digests,
      prefix: prefix)
  }

  private func introduce() async throws(StoreFailure) -> RedisServerFacts {
    let authenticated = try authenticate()
    let selected = try select()
    let info = try send("INFO")
    let time = try send("TIME")
    let save = try connection.send { output in
      output.append(commandOf: 3)
      output.append(word: "CONFIG")
      output.append(word: "GET")
      output.append(word: "save")
    }
    await connection.pump(for: save, until: .never)
    if let reply = try await authenticated?.reply(on: loop, until: .never), reply.text != "OK" {
      throw refusal("Redis refuses the user or the password (store.redis.user, .password): \(Self.text(reply))")
    }
    if let reply = try await selected?.reply(on: loop, until: .never), reply.text != "OK" {
      throw refusal("Redis refuses database \(settings.database): \(Self.text(reply))")
    }
    let infoReply = try await info.reply(on: loop, until: .never)
    guard let text = infoReply.text else { throw refused("INFO", infoReply) }
    let timeReply = try await time.reply(on: loop, until: .never)
    guard case .array = timeReply else { throw refused("TIME", timeReply) }
    let saveReply = try await save.reply(on: loop, until: .never)
    guard let facts = RedisServerFacts(info: text, time: timeReply, save: saveReply, gateSeconds: WallClock.unixSeconds) else {
      throw refusal("what answers at Redis' address gives no run_id or no time: is it Redis?")
    }
    return facts
  }

  private func authenticate() throws(StoreFailure) -> PendingReply? {
    guard let password = settings.password else { return nil }
    return try connection.send { output in
      output.append(commandOf: settings.user == nil ? 2 : 3)
      output.append(word: "AUTH")
      if let user = settings.user { output.append(word: user) }
      output.append(word: password)
    }
  }

  private func select() throws(StoreFailure) -> PendingReply? {
    guard settings.database != 0 else { return nil }
    return try connection.send { output in
      output.append(commandOf: 2)
      output.append(word: "SELECT")
      output.append(word: settings.database)
    }
  }

  private func send(_ command: StaticString) throws(StoreFailure) -> PendingReply {
    try connection.send { output in
      output.append(commandOf: 1)
      output.append(word: command)
    }
  }

  private func refused(_ command: String, _ reply: RedisReply) -> StoreFailure {
    let message = Self.text(reply)
    if message.hasPrefix("NOAUTH") { return refusal("Redis wants a password: set store.redis.password (\(message))") }
    if message.hasPrefix("NOPERM") {
      let user = settings.user ?? "default"
      let mend = "ACL SETUSER \(user) ~\(settings.prefix)* \(Self.aclRules)"
      return refusal("Redis' ACL forbids \(command) to user \(user); it needs: \(mend)")
    }
    return refusal("Redis refuses \(command): \(message)")
  }

  private func refusal(_ reason: String) -> StoreFailure { StoreFailure(outcomeUnknown: false, reason: reason) }

  private static func text(_ reply: RedisReply) -> String { reply.errorMessage ?? "an unexpected reply" }
}
