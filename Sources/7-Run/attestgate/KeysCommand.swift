import AppAttest
import Configuration
import EventLoop
import Store

/// `attestgate keys`: looks after the keys in the store of a configuration.
struct KeysCommand {
  private static let config = CommandUsage.Option(
    "--config", value: "FILE", "the configuration whose store is meant, proxy.yaml unless said otherwise")
  private static let json = CommandUsage.Option("--json", "for programs: one JSON object a line")
  private static let note =
    "ID is the key identifier, base64 in either alphabet. One that begins with a hyphen is written after --."

  static let usage = CommandUsage(
    name: "keys", operands: "list|show|revoke|restore", operandCount: 1...2,
    summary: "Lists, shows, revokes and restores the enrolled keys. attestgate keys list --help and so on show the options.")

  static let listUsage = CommandUsage(
    name: "keys list", summary: "Lists the enrolled keys, in no order.",
    options: [
      config,
      .init("--app", value: "PREFIX.bundle", "only keys of this app"),
      .init("--status", value: "STATUS", "only keys that are active, or only those that are revoked"),
      json,
    ])

  static let showUsage = CommandUsage(
    name: "keys show", operands: "ID", operandCount: 1...1, summary: "Shows all that is stored of a key.\n" + note, options: [config, json])

  static let revokeUsage = CommandUsage(
    name: "keys revoke", operands: "ID", operandCount: 1...1,
    summary: "Revokes a key: the next request that it signed is refused, on every gate. Nothing is deleted, and restore undoes it.\n"
      + note,
    options: [config, json])

  static let restoreUsage = CommandUsage(
    name: "keys restore", operands: "ID", operandCount: 1...1,
    summary: "Accepts a revoked key again, from the counter that it had.\n" + note, options: [config, json])

  /// Runs the command with the words behind its name; the result is the exit code: 0 for done, 1 when there is no such key or no store.
  static func run(_ arguments: [String]) -> Int32 {
    let rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "list":
      return listUsage.run(rest) { given throws(UsageFailure) in
        let list = KeyList(filter: try filter(given), asJSON: given.has("--json"))
        return withStore(given, "list") { store throws(StoreFailure) in try await list.write(from: store) }
      }
    case "show":
      return showUsage.run(rest) { given throws(UsageFailure) in
        let (key, asJSON) = (try identifier(given), given.has("--json"))
        return withStore(given, "show") { store throws(StoreFailure) in
          guard let record = try await store.record(of: key) else { return noSuchKey(key) }
          print(asJSON ? KeyReport(record).json : KeyReport(record).text)
          return ExitCode.done
        }
      }
    case "revoke": return revokeUsage.run(rest) { given throws(UsageFailure) in try change(given, "revoke", active: false) }
    case "restore": return restoreUsage.run(rest) { given throws(UsageFailure) in try change(given, "restore", active: true) }
    default:
      return usage.run(arguments) { given throws(UsageFailure) in
        throw UsageFailure("\(given.operands[0]) is none of list, show, revoke and restore")
      }
    }
  }

  private static func change(_ given: Arguments, _ name: String, active: Bool) throws(UsageFailure) -> Int32 {
    let (key, asJSON) = (try identifier(given), given.has("--json"))
    return withStore(given, name) { store throws(StoreFailure) in
      guard try await store.setActive(active, key: key) else { return noSuchKey(key) }
      let status = active ? "active" : "revoked"
      print(asJSON ? "{\"key_id\":\"\(key.base64)\",\"status\":\"\(status)\"}" : "\(key.base64) is \(status)")
      return ExitCode.done
    }
  }

  private static func noSuchKey(_ key: KeyIdentifier) -> Int32 {
    StandardError.write("attestgate keys: no key \(key.base64) is enrolled in this store\n")
    return ExitCode.failed
  }

  private static func identifier(_ given: Arguments) throws(UsageFailure) -> KeyIdentifier {
    let text = given.operands[0]
    guard let key = KeyIdentifier(base64: Array(text.utf8).span) else {
      throw UsageFailure("\(InspectionOutput.printable(text)) is no key identifier: it must be the base64 of 32 bytes")
    }
    return key
  }

  private static func filter(_ given: Arguments) throws(UsageFailure) -> KeyList.Filter {
    var filter = KeyList.Filter(app: given.value("--app"), isActive: nil)
    if let status = given.value("--status") {
      guard ["active", "revoked"].contains(status) else { throw UsageFailure("--status must be active or revoked") }
      filter.isActive = status == "active"
    }
    return filter
  }

  /// Runs `body` with the store of the configuration. Says why where there is none.
  private static func withStore(
    _ given: Arguments, _ name: String, _ body: @escaping @Sendable (RedisStore) async throws(StoreFailure) -> Int32
  ) -> Int32 {
    do throws(ConfigurationFailure) {
      switch try ConfigurationLoader.load(file: given.value("--config") ?? "proxy.yaml").store {
      case .redis(let settings): return StoreSession.run(settings, name: "keys \(name)", body)
      case .memory:
        StandardError.write(
          "attestgate keys \(name): the configuration says store: memory; its keys are inside the running gate and gone at its end, "
            + "and no other process reaches them\n")
        return ExitCode.failed
      }
    } catch {
      for problem in error.problems { StandardError.write("\(problem)\n") }
      return ExitCode.failed
    }
  }
}
