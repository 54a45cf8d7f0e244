import AppAttest
import Bytes
import Cryptography

/// How an enrolled key stands in Redis: the fields of its hash (store.md), written and read in one place.
enum RedisRecord {
  /// The fields of ``EnrolledKey``, in the order that they are asked for.
  static let unchanging: [StaticString] = ["pub", "app", "env", "root"]

  /// The fields and values that *enroll* writes, as words.
  static func fields(of enrolment: Enrolment) -> [[UInt8]] {
    let key = enrolment.key
    var fields: [[UInt8]] = []
    func add(_ name: String, _ value: [UInt8]) { fields += [Array(name.utf8), value] }
    add("pub", key.publicKey)
    add("app", Array(key.app.utf8))
    add("env", Array(key.environment.rawValue.utf8))
    add("root", key.trustRoot.bytes)
    add("ctr", Array("0".utf8))
    add("status", Array("active".utf8))
    add("enrolled_at", Array("\(enrolment.enrolledAt)".utf8))
    add("att", enrolment.attestation.bytes)
    add("receipt", enrolment.receipt)
    if let category = enrolment.category { add("category", Array("\(category)".utf8)) }
    if let version = enrolment.bundleVersion { add("bundle_version", Array(version.utf8)) }
    return fields
  }

  /// The unchanging parts from their four values; nil when they are not what *enroll* wrote: the public key must have the identifier
  /// as its SHA-256, for everything that is verified with it rests on that.
  static func enrolledKey(_ identifier: KeyIdentifier, _ values: ArraySlice<RedisReply>) -> EnrolledKey? {
    guard values.count == unchanging.count, case .bytes(let point) = values[values.startIndex],
      let app = values[values.startIndex + 1].text,
      let environment = values[values.startIndex + 2].text.flatMap({ AttestationEnvironment(rawValue: $0) }),
      let root = digest(values[values.startIndex + 3]),
      point.count == P256PublicKey.x963ByteCount, SHA256.digest(point.span) == identifier.digest
    else { return nil }
    return EnrolledKey(identifier: identifier, publicKey: point, app: app, environment: environment, trustRoot: root)
  }

  /// The whole record from HGETALL; nil when it is damaged.
  static func record(_ identifier: KeyIdentifier, _ pairs: [RedisReply]) -> KeyRecord? {
    var fields: [String: RedisReply] = [:]
    for index in stride(from: 0, to: pairs.count - 1, by: 2) {
      guard let name = pairs[index].text else { return nil }
      fields[name] = pairs[index + 1]
    }
    let values = unchanging.map { fields[$0.description] ?? .null }
    guard let key = enrolledKey(identifier, values[...]), let counter = number(fields["ctr"]).flatMap({ UInt32(exactly: $0) }),
      let enrolledAt = number(fields["enrolled_at"]), let attestation = digest(fields["att"]), let status = fields["status"]?.text
    else { return nil }
    var receiptByteCount = 0
    if case .bytes(let receipt) = fields["receipt"] { receiptByteCount = receipt.count }
    return KeyRecord(
      key: key, counter: counter, isActive: status == "active", enrolledAt: enrolledAt, seenAt: number(fields["seen_at"]),
      attestation: attestation, receiptByteCount: receiptByteCount,
      category: number(fields["category"]).flatMap { UInt32(exactly: $0) }, bundleVersion: fields["bundle_version"]?.text)
  }

  /// The identifier inside a record's key; nil for a key that is no record's.
  static func identifier(inKey key: [UInt8], prefix: [UInt8]) -> KeyIdentifier? {
    let opening = prefix + Array("key:{".utf8)
    guard key.count == opening.count + 43 + 1, key.starts(with: opening), key.last == UInt8(ascii: "}") else { return nil }
    return KeyIdentifier(base64: key[opening.count..<key.count - 1].span)
  }

  /// The pattern of SCAN that every record's key matches; the prefix's own characters stand for themselves.
  static func pattern(prefix: [UInt8]) -> [UInt8] {
    var pattern: [UInt8] = []
    for byte in prefix {
      if "*?[]\\^".utf8.contains(byte) { pattern.append(UInt8(ascii: "\\")) }
      pattern.append(byte)
    }
    return pattern + Array("key:{*}".utf8)
  }

  static func digest(_ reply: RedisReply?) -> SHA256Digest? {
    guard case .bytes(let bytes) = reply else { return nil }
    return SHA256Digest(bytes.span)
  }

  private static func number(_ reply: RedisReply?) -> Int? { reply?.text.flatMap { Int($0) } }
}
