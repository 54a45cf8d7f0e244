/// The atomic steps as Lua (store.md). Each judges everything first and writes last, so that a refusal changes nothing; a record that is
/// not as the gate wrote it is an error reply, and the gate fails closed.
enum RedisScripts {
  /// KEYS: key record, mark (only with a challenge), bucket (only with a rate).
  /// ARGV: counter, window (0 = strict), seconds since 1970, and with a challenge: fingerprint, the mark's lifetime in seconds.
  /// With a rate also: microseconds from one time to the next, how many at once; the two of a challenge are empty then if there is none.
  /// Returns the highest counter before (0 or more) when accepted, else a negative number: the reason, or from -1000 on, for a key that
  /// comes too often, how many milliseconds it should wait.
  ///
  /// The bitmap is ``CounterWindow``'s: 129 blocks of 8 counters, a ring.
  static let commit: StaticString = """
    local record = redis.call('HMGET', KEYS[1], 'status', 'ctr', 'win')
    if not record[1] then
      if redis.call('EXISTS', KEYS[1]) == 0 then return -1 end
      return redis.error_reply('ERR attestgate: a key record without status')
    end
    if record[1] ~= 'active' then return -2 end
    local challenge, bucket = KEYS[2], nil
    if ARGV[6] then
      bucket = KEYS[#KEYS]
      if ARGV[4] == '' then challenge = nil end
    end
    if challenge then
      local mark = redis.call('GET', challenge)
      if mark then
        if mark == ARGV[4] then return -4 end
        return -3
      end
    end
    local highest, map = tonumber(record[2]), record[3] or string.rep('\\0', 129)
    if not highest or #map ~= 129 then return redis.error_reply('ERR attestgate: a key record with a damaged counter') end
    local counter, window = tonumber(ARGV[1]), tonumber(ARGV[2])
    if counter < 1 then return -6 end
    local block = math.floor(counter / 8)
    if counter > highest then
      local first = math.floor(highest / 8) + 1
      local passed = block - first + 1
      if passed >= 129 then
        map = string.rep('\\0', 129)
      elseif passed > 0 then
        local from = first % 129
        local tail = math.min(passed, 129 - from)
        map = string.rep('\\0', passed - tail) .. string.sub(map, passed - tail + 1, from)
          .. string.rep('\\0', tail) .. string.sub(map, from + tail + 1)
      end
    else
      local age = highest - counter
      if age >= 1024 then return -6 end
    end
    local place = block % 129 + 1
    local bits, bit = string.byte(map, place), 2 ^ (counter % 8)
    if counter <= highest then
      if math.floor(bits / bit) % 2 == 1 then return -5 end
      if highest - counter >= window then return -6 end
    end
    map = string.sub(map, 1, place - 1) .. string.char(bits + bit) .. string.sub(map, place + 1)
    if bucket then
      local time, full, interval = redis.call('TIME'), tonumber(redis.call('GET', bucket) or '0'), tonumber(ARGV[6])
      if not full then return redis.error_reply('ERR attestgate: a damaged rate bucket') end
      local now, burst = time[1] * 1000000 + time[2], tonumber(ARGV[7])
      full = math.min(math.max(full, now), now + interval * burst)
      local wait = full - now - interval * (burst - 1)
      if wait > 0 then return -1000 - math.ceil(wait / 1000) end
      full = full + interval
      redis.call('SET', bucket, string.format('%.0f', full), 'PX', string.format('%.0f', math.ceil((full - now) / 1000)))
    end
    if challenge then redis.call('SET', challenge, ARGV[4], 'EX', ARGV[5]) end
    redis.call('HSET', KEYS[1], 'ctr', string.format('%.0f', math.max(counter, highest)), 'win', map, 'seen_at', ARGV[3])
    return highest
    """

  /// KEYS: key record, mark. ARGV: SHA-256 of the attestation, fingerprint, the mark's lifetime in seconds, then the record's fields and values.
  /// Returns 0 enrolled, 1 enrolled before, 2 revoked, 3 another attestation, 4 challenge used.
  static let enroll: StaticString = """
    local record = redis.call('HMGET', KEYS[1], 'att', 'status')
    if record[1] or redis.call('EXISTS', KEYS[1]) == 1 then
      if record[1] ~= ARGV[1] then return 3 end
      if record[2] == 'active' then return 1 end
      return 2
    end
    if not redis.call('SET', KEYS[2], ARGV[2], 'NX', 'EX', ARGV[3]) then return 4 end
    redis.call('HSET', KEYS[1], unpack(ARGV, 4))
    return 0
    """

  /// KEYS: key record. ARGV: `active` or `revoked`. Returns 1, or 0 when there is no such key.
  static let setStatus: StaticString = """
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    redis.call('HSET', KEYS[1], 'status', ARGV[1])
    return 1
    """

  /// Everything that a connection loads.
  static let all: [StaticString] = [commit, enroll, setStatus]

  /// A script that a connection has loaded, by its place in ``all``.
  enum Name: Int {
    case commit, enroll, setStatus

    var source: StaticString { RedisScripts.all[rawValue] }
  }
}
