import Bytes

/// A connection that was introduced: what is known of the server at its other end.
struct RedisSession {
  let connection: RedisConnection
  let facts: RedisServerFacts
  let sealing: SealingSecrets
  /// SHA-1 of each of ``RedisScripts/all``, in hexadecimal, as Redis gave it.
  let scriptDigests: [[UInt8]]
  /// Begins every key.
  let prefix: [UInt8]
}
