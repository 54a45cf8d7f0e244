/// Which certificates serve which name: for each name the first of each kind of key.
struct IdentityChoice {
  private let identities: [TLSIdentity]
  /// The different sets, as indexes; the first is the one that stands in.
  private(set) var sets: [[Int]] = []

  init(_ identities: [TLSIdentity]) {
    precondition(!identities.isEmpty, "a server has a certificate")
    self.identities = identities
  }

  /// The set for clients that name nobody we know: the first certificate, and its siblings with other keys.
  mutating func standIn() -> Int {
    var first = [0]
    for index in identities.indices.dropFirst() {
      let isNewKind = !first.contains { identities[$0].keyKind == identities[index].keyKind }
      if isNewKind && identities[index].names.contains(where: identities[0].names.contains) { first.append(index) }
    }
    return place(of: first)
  }

  /// The sets of whole names.
  mutating func byName() -> [String: Int] {
    var found: [String: Int] = [:]
    for name in Set(identities.flatMap(\.names)) where !name.hasPrefix("*.") { found[name] = place(of: set(for: name)) }
    return found
  }

  /// The sets of wildcards, by what follows the asterisk (RFC 6125 section 6.4.3: it stands for one label, the leftmost).
  mutating func byDomain() -> [String: Int] {
    var found: [String: Int] = [:]
    for name in Set(identities.flatMap(\.names)) where name.hasPrefix("*.") { found[String(name.dropFirst())] = place(of: set(for: name)) }
    return found
  }

  private func set(for name: String) -> [Int] {
    let wildcard = name.firstIndex(of: ".").map { "*" + name[$0...] } ?? name
    var chosen: [Int] = []
    // A certificate for the very name goes before one with a wildcard.
    for isWanted in [{ (identity: TLSIdentity) in identity.names.contains(name) }, { $0.names.contains(wildcard) }] {
      for (index, identity) in identities.enumerated()
      where isWanted(identity) && !chosen.contains(where: { identities[$0].keyKind == identity.keyKind }) {
        chosen.append(index)
      }
    }
    return chosen.sorted()
  }

  private mutating func place(of set: [Int]) -> Int {
    if let index = sets.firstIndex(of: set) { return index }
    sets.append(set)
    return sets.count - 1
  }
}
