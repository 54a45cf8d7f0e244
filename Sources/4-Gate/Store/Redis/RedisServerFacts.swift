import Cryptography

/// What INFO, TIME and CONFIG told about the server behind a connection.
struct RedisServerFacts {
  /// First four bytes of SHA-256 over `run_id`.
  let runTag: UInt32
  /// Redis' clock, seconds since 1970.
  let unixSeconds: Int
  /// Redis' clock minus the gate's.
  let clockOffsetSeconds: Int
  /// Whether it takes writes.
  let isPrimary: Bool
  let warnings: [StoreWarning]

  /// Beyond so many seconds of difference the clocks are worth a warning.
  static let clockSkewSecondsMax = 2

  /// From the replies; nil when INFO has no `run_id` or TIME no time. `save` is nil where CONFIG is forbidden.
  init?(info: String, time: RedisReply, save: RedisReply?, gateSeconds: Int) {
    var fields: [Substring: Substring] = [:]
    for line in info.split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon]] = line[line.index(after: colon)...]
    }
    guard let run = fields["run_id"], !run.isEmpty else { return nil }
    guard case .array(let parts) = time, let seconds = parts.first?.text.flatMap({ Int($0) }), (0...1 << 40).contains(seconds) else {
      return nil
    }
    let digest = SHA256.digest(Array(run.utf8).span)
    runTag = (0..<4).reduce(0) { $0 << 8 | UInt32(digest[$1]) }
    unixSeconds = seconds
    isPrimary = fields["role"] != "slave"
    var warnings: [StoreWarning] = []
    clockOffsetSeconds = seconds - gateSeconds
    if clockOffsetSeconds.magnitude > Self.clockSkewSecondsMax { warnings.append(.clockSkew(seconds: clockOffsetSeconds)) }
    if let policy = fields["maxmemory_policy"], policy.hasPrefix("allkeys") {
      warnings.append(.eviction(policy: String(policy)))
    }
    if fields["aof_enabled"] == "0", case .array(let pair) = save, pair.count == 2, pair[1].text == "" { warnings.append(.notPersistent) }
    self.warnings = warnings
  }
}
