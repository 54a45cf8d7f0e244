import Bytes
import Cryptography
import EventLoop

/// One reading of the sealing secrets: those of the schedule are made where they are missing, then all are read.
struct SecretExchange {
  private let schedule: SecretSchedule
  private let replies: [PendingReply]

  /// Sends the commands.
  init(_ schedule: SecretSchedule, _ connection: RedisConnection, prefix: [UInt8]) throws(StoreFailure) {
    self.schedule = schedule
    for day in schedule.made {
      _ = try connection.send { output in
        output.append(commandOf: 6)
        output.append(word: "SET")
        output.append(word: prefix + Array("secret:\(day)".utf8))
        output.append(word: SecureRandom.bytes(SealingSecrets.secretByteCount))
        output.append(word: "NX")
        output.append(word: "EX")
        output.append(word: schedule.lifetimeSeconds(of: day))
      }
    }
    var replies: [PendingReply] = []
    for day in schedule.read {
      replies.append(
        try connection.send { output in
          output.append(commandOf: 2)
          output.append(word: "GET")
          output.append(word: prefix + Array("secret:\(day)".utf8))
        })
    }
    self.replies = replies
  }

  /// The command whose reply is the last.
  var last: PendingReply { replies[replies.count - 1] }

  /// The secrets that Redis holds. Throws when there is none for today, or one that the gate did not write.
  func secrets(on loop: EventLoop) async throws(StoreFailure) -> [SealingSecrets.Secret] {
    var secrets: [SealingSecrets.Secret] = []
    for (day, pending) in zip(schedule.read, replies) {
      switch try await pending.reply(on: loop, until: .never) {
      case .bytes(let bytes) where bytes.count == SealingSecrets.secretByteCount:
        secrets.append(SealingSecrets.Secret(bytes: bytes, sealsFrom: day * SecretSchedule.daySeconds))
      case .null where day != schedule.today: continue
      case .null: throw StoreFailure(outcomeUnknown: false, reason: "Redis did not take today's sealing secret")
      case .error(let message): throw StoreFailure(outcomeUnknown: false, reason: "Redis refuses the sealing secrets: \(message)")
      default: throw StoreFailure(outcomeUnknown: false, reason: "secret:\(day) in Redis is not a sealing secret: delete it")
      }
    }
    return secrets
  }
}
