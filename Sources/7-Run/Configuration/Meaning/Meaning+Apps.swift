import AppAttest
import Cryptography

/// The apps that routes may name.
struct ReadApps {
  var named: [Configuration.App]
  /// False when some app has no name, for a problem of its own: it may be the one that a route means.
  var areAllNamed: Bool
}

extension Meaning {
  /// One app; nil, with a problem, when it has no name. Routes may name one whose roots cannot be read: that is no second problem.
  private func app(_ written: WrittenApp) -> Configuration.App? {
    let roots = trustRoots(written.trustRoots)
    let environments = written.environments?.value.map(\.value) ?? [.production]
    if let list = written.environments { checkDistinct(list) }
    guard let team = written.teamID, let bundle = written.bundleID else { return nil }
    let identity = AppIdentity(prefix: written.prefix?.value ?? team.value, bundleIdentifier: bundle.value)
    return Configuration.App(identity: identity, environments: Set(environments), trustRoots: roots ?? [])
  }

  /// Every app, with a problem for each that is there twice.
  func apps(_ written: WrittenConfiguration) -> ReadApps {
    var read = ReadApps(named: [], areAllNamed: written.lacksApps || !written.apps.isEmpty)
    for entry in written.apps {
      guard let app = app(entry) else {
        read.areAllNamed = false
        continue
      }
      if read.named.contains(where: { $0.identity == app.identity }) {
        problems.add(entry.place, entry.path, "the app \(app.identity) is there already; put everything about it into one entry")
      } else {
        read.named.append(app)
      }
    }
    return read
  }

  private func trustRoots(_ written: Placed<[Placed<String>]>?) -> [Certificate]? {
    guard let written else { return [AppleRoots.appAttestation] }
    var roots: [Certificate] = []
    var isComplete = true
    for entry in written.value {
      if entry.value == "apple" {
        roots.append(AppleRoots.appAttestation)
        continue
      }
      switch ReferencedFile.certificates(at: ReferencedFile.path(entry.value, besides: file)) {
      case .success(let certificates): roots += certificates
      case .failure(let wrong):
        let mend = entry.value.contains("/") || entry.value.contains(".") ? "" : Suggestion.phrase(for: entry.value, among: ["apple"])
        problems.add(entry, wrong.message + mend)
        isComplete = false
      }
    }
    if written.value.isEmpty { problems.add(written, "names no root; write [apple]") }
    return isComplete ? roots : nil
  }

  /// Reports what stands twice, and a list without an entry.
  func checkDistinct<Value: Equatable>(_ list: Placed<[Placed<Value>]>, allowsNone: Bool = false) {
    if list.value.isEmpty && !allowsNone { problems.add(list, "has no entry; remove the key for its default") }
    for (index, entry) in list.value.enumerated() where list.value[..<index].contains(where: { $0.value == entry.value }) {
      problems.add(entry, "stands in the list already")
    }
  }
}
