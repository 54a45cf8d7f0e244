import AppAttest
import Cryptography

extension Meaning {
  /// One app; nil, with a problem, when it is not all there.
  func app(_ written: WrittenApp) -> Configuration.App? {
    let roots = trustRoots(written.trustRoots)
    let environments = written.environments?.value.map(\.value) ?? [.production]
    if let list = written.environments { checkDistinct(list) }
    guard let team = written.teamID, let bundle = written.bundleID, let roots else { return nil }
    let identity = AppIdentity(prefix: written.prefix?.value ?? team.value, bundleIdentifier: bundle.value)
    return Configuration.App(identity: identity, environments: Set(environments), trustRoots: roots)
  }

  /// The apps that are all there, with a problem for each that is there twice.
  func distinct(_ apps: [Configuration.App?], _ written: [WrittenApp]) -> [Configuration.App] {
    var distinct: [Configuration.App] = []
    for (app, written) in zip(apps, written) {
      guard let app else { continue }
      if distinct.contains(where: { $0.identity == app.identity }) {
        problems.add(written.place, written.path, "the app \(app.identity) is there already; put everything about it into one entry")
      } else {
        distinct.append(app)
      }
    }
    return distinct
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
