import Bytes

/// A connection that was introduced: what is known of the server at its other end.
final class RedisSession {
  let connection: RedisConnection
  let facts: RedisServerFacts
  let sealing: SealingSecrets
  /// SHA-1 of each of ``RedisScripts/all``, in hexadecimal, as Redis gave it.
  let scriptDigests: [[UInt8]]
  /// Begins every key.
  let prefix: [UInt8]

  init(connection: RedisConnection, facts: RedisServerFacts, sealing: SealingSecrets, scriptDigests: [[UInt8]], prefix: [UInt8]) {
    self.connection = connection
    self.facts = facts
    self.sealing = sealing
    self.scriptDigests = scriptDigests
    self.prefix = prefix
  }
}
