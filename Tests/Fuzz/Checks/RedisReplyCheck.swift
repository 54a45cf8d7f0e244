import AppAttest
import Bytes
import Cryptography

@testable import Store

/// Any split of what Redis sends gives the same replies, and a reply that is written again is read as the same.
func checkRedisReplies(_ bytes: [UInt8]) throws(Broken) {
  let whole = read([bytes])
  try require(read(pieces(bytes)) == whole, "replies in pieces are read otherwise")
  try require(read(bytes.map { [$0] }) == whole, "replies byte by byte are read otherwise")
  for case .reply(let reply) in whole {
    let written = RedisReplyWriting.encoded(reply)
    try require(read([written]) == [.reply(reply)], "\(reply) is written as \(quoted(written)), which reads otherwise")
    try checkMeaning(reply)
  }
}

/// Every whole reply, and the failure that ends them.
private func read(_ pieces: [[UInt8]]) -> [ReplyReader.Outcome] {
  let reader = ReplyReader()
  var outcomes: [ReplyReader.Outcome] = []
  for piece in pieces {
    reader.feed(piece.span)
    reading: while true {
      let outcome = reader.next()
      switch outcome {
      case .incomplete: break reading
      case .reply: outcomes.append(outcome)
      case .malformed: return outcomes + [.malformed("")]
      }
    }
  }
  return outcomes
}

private enum RedisReplyWriting {
  static func encoded(_ reply: RedisReply) -> [UInt8] {
    switch reply {
    case .integer(let number): Array(":\(number)\r\n".utf8)
    case .bytes(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + [13, 10]
    case .null: Array("$-1\r\n".utf8)
    case .error(let message): Array("-\(message)\r\n".utf8)
    case .array(let items): Array("*\(items.count)\r\n".utf8) + items.flatMap(encoded)
    }
  }
}

/// What the gate makes of replies: a record is taken only under the identifier of its key, whatever the reply holds.
private func checkMeaning(_ reply: RedisReply) throws(Broken) {
  _ = RedisServerFacts(info: reply.text ?? "run_id:1", time: reply, save: reply, gateSeconds: 1_790_000_000)
  guard case .array(let items) = reply else { return }
  _ = RedisServerFacts(info: items.first?.text ?? "", time: items.last ?? .null, save: nil, gateSeconds: 1_790_000_000)
  let points = items.compactMap { item -> [UInt8]? in if case .bytes(let bytes) = item { bytes } else { nil } }
  let identifiers = points.map { KeyIdentifier(SHA256.digest($0.span)) }
  for identifier in identifiers.prefix(4) {
    guard let record = RedisRecord.record(identifier, items) else { continue }
    try require(record.key.identifier == identifier, "a record is taken under another identifier")
    try require(SHA256.digest(record.key.publicKey.span) == identifier.digest, "a record is taken with another key")
    let app = Array(record.key.app.utf8)
    try require(String(validating: app, as: UTF8.self) != nil, "an app that is not UTF-8")
  }
}
