import AppAttest
import Cryptography
import HTTP
import Store

/// The configured apps, looked up by App ID and by RP ID hash; and what a key or an assertion of theirs may do on a route now.
struct ConfiguredApps {
  private struct Entry {
    var rpIDHash: SHA256Digest
    /// A few.
    var trustRoots: [SHA256Digest]
  }

  private var entries: [String: Entry] = [:]
  private var names: [SHA256Digest: String] = [:]

  init(_ apps: [AttestedApp]) {
    for app in apps {
      let name = app.identity.description
      entries[name] = Entry(rpIDHash: app.rpIDHash, trustRoots: app.trustRoots.map(\.digest))
      names[app.rpIDHash] = name
    }
  }

  /// Step 3: app, environment and trust root of an enrolled key, as the configuration is now and not as it was at enrolment.
  /// Gives SHA-256 of its App ID, which the assertion must name.
  func check(_ key: EnrolledKey, under policy: SharedPolicy) throws(CheckFailure) -> SHA256Digest {
    guard let entry = entries[key.app], let environments = policy.apps[key.app] else { throw Self.appNotAllowed }
    guard environments.contains(key.environment), entry.trustRoots.contains(key.trustRoot) else {
      throw CheckFailure(.environmentNotAllowed, "This route does not admit the environment that attested the key.")
    }
    return entry.rpIDHash
  }

  /// Step 4 for a request whose key is not known yet: the assertion was made for an app that the route admits.
  /// No enrolled key could pass ``check(_:under:)`` otherwise, so it is refused before the costly part.
  func check(rpIDHash: SHA256Digest, under policy: SharedPolicy) throws(CheckFailure) {
    guard let name = names[rpIDHash] else { throw CheckFailure(.rpIDMismatch, "The assertion was made for another app.") }
    guard policy.apps[name] != nil else { throw Self.appNotAllowed }
  }

  private static var appNotAllowed: CheckFailure { CheckFailure(.appNotAllowed, "This route does not admit the app.") }
}
