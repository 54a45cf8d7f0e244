/// What is wrong with one value, and the mend: the end of a sentence that begins with the key.
struct Wrong: Error {
  var message: String
  init(_ message: String) { self.message = message }
}

/// A mapping being read: hands out its values by key and knows in the end which keys nobody asked for.
final class Section {
  let place: Place
  /// Such as `routes[2]`; empty for the document.
  let path: String
  let problems: ProblemList
  private var entries: [String: YAMLNode.Entry] = [:]
  /// Keys in the order of the file.
  private(set) var keys: [String] = []
  private var asked: [String] = []
  private var missing: [(key: String, mend: String)] = []

  /// Nil, with a problem, when the node is no mapping; nothing counts as an empty one.
  init?(_ node: YAMLNode, path: String, problems: ProblemList) {
    place = node.place
    self.path = path
    self.problems = problems
    if node.isNull { return }
    guard case .mapping(let list) = node.content else {
      problems.add(node.place, path, "must be a section of keys and values, and is \(node.kind)")
      return nil
    }
    for entry in list {
      if let first = entries[entry.key] {
        problems.add(entry.keyPlace, pathOf(entry.key), "repeated key; it is first set in line \(first.keyPlace.line)")
      } else {
        entries[entry.key] = entry
        keys.append(entry.key)
      }
    }
  }

  func pathOf(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

  func has(_ key: String) -> Bool { entries[key] != nil }

  /// Where the key itself stands, or the section if it does not.
  func placeOf(_ key: String) -> Place { entries[key]?.keyPlace ?? place }

  /// To be called before ``finish()`` when a key that must be there is not.
  func missing(_ key: String, _ mend: String) { missing.append((key, mend)) }

  func isEmptyList(_ key: String) -> Bool {
    if case .sequence(let nodes)? = entries[key]?.value.content { return nodes.isEmpty }
    return false
  }

  /// Reports the keys that nobody asked for, and those that are missing unless one of the former was meant for it.
  func finish() {
    var meant: [String] = []
    for key in keys where !asked.contains(key) {
      let mend: String
      if key == "<<" {
        mend = "merge keys are not understood; write the keys out, or use an alias for a whole value"
      } else if let nearest = Suggestion.nearest(key, among: asked) {
        mend = "unknown key; did you mean \"\(nearest)\"?"
        meant.append(nearest)
      } else {
        mend = "unknown key; known here: \(asked.joined(separator: ", "))"
      }
      problems.add(entries[key]!.keyPlace, pathOf(key), mend)
    }
    for entry in missing where !meant.contains(entry.key) { problems.add(place, pathOf(entry.key), "is missing; \(entry.mend)") }
  }

  // MARK: Values

  private func node(_ key: String) -> YAMLNode? {
    if !asked.contains(key) { asked.append(key) }
    return entries[key]?.value
  }

  /// A scalar that `parse` understands; nil when it is absent, or wrong, which is reported.
  func value<Value>(_ key: String, _ parse: (String) throws(Wrong) -> Value) -> Placed<Value>? {
    node(key).flatMap { Self.scalar($0, pathOf(key), problems, parse) }
  }

  /// A list of scalars.
  func list<Value>(_ key: String, _ parse: (String) throws(Wrong) -> Value) -> Placed<[Placed<Value>]>? {
    guard let node = node(key) else { return nil }
    guard case .sequence(let nodes) = node.content else {
      problems.add(node.place, pathOf(key), "must be a list, such as [a, b], and is \(node.kind)")
      return nil
    }
    let values = nodes.enumerated().compactMap { Self.scalar($0.element, "\(pathOf(key))[\($0.offset)]", problems, parse) }
    // A list with a wrong entry is not the list that was meant.
    return values.count == nodes.count ? Placed(value: values, place: node.place, path: pathOf(key)) : nil
  }

  /// A section within this one.
  func section(_ key: String) -> Section? {
    node(key).flatMap { Section($0, path: pathOf(key), problems: problems) }
  }

  /// What may be a lone word or a section.
  func wordOrSection<Value>(_ key: String, _ parse: (String) throws(Wrong) -> Value) -> (word: Placed<Value>?, section: Section?) {
    guard let node = node(key) else { return (nil, nil) }
    if case .mapping = node.content { return (nil, section(key)) }
    return (value(key, parse), nil)
  }

  /// A list of sections.
  func sections(_ key: String) -> [Section]? {
    guard let node = node(key) else { return nil }
    guard case .sequence(let nodes) = node.content else {
      problems.add(node.place, pathOf(key), "must be a list, each entry beginning with \"- \", and is \(node.kind)")
      return nil
    }
    return nodes.enumerated().compactMap { Section($0.element, path: "\(pathOf(key))[\($0.offset)]", problems: problems) }
  }

  /// The sections of a mapping whose keys are names.
  func namedSections() -> [(name: Placed<String>, section: Section)] {
    keys.compactMap { key in
      guard let section = section(key) else { return nil }
      return (Placed(value: key, place: placeOf(key), path: pathOf(key)), section)
    }
  }

  /// The texts of a mapping whose keys are names.
  func namedValues() -> [(name: Placed<String>, value: Placed<String>)] {
    keys.compactMap { key in
      guard let value = value(key, { $0 }) else { return nil }
      return (Placed(value: key, place: placeOf(key), path: pathOf(key)), value)
    }
  }

  private static func scalar<Value>(
    _ node: YAMLNode, _ path: String, _ problems: ProblemList, _ parse: (String) throws(Wrong) -> Value
  ) -> Placed<Value>? {
    guard case .scalar(let text, _) = node.content else {
      problems.add(node.place, path, "must be a single value, and is \(node.kind)")
      return nil
    }
    if node.isNull {
      problems.add(node.place, path, "has no value; give it one or remove the key")
      return nil
    }
    do {
      return Placed(value: try parse(text), place: node.place, path: path)
    } catch {
      problems.add(node.place, path, error.message)
      return nil
    }
  }
}
