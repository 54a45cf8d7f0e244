/// A part of a YAML document, with aliases already replaced by what they stand for.
struct YAMLNode: Sendable {
  enum Content: Sendable {
    /// `isPlain` when it was written without quotes and so may be a number, a truth value or nothing.
    case scalar(String, isPlain: Bool)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  struct Entry: Sendable {
    var key: String
    var keyPlace: Place
    var value: YAMLNode
  }

  var content: Content
  var place: Place
  /// Nodes in it, itself among them: what aliases are counted by.
  var nodeCount: Int

  /// Whether it is nothing: an empty value, `~` or `null`.
  var isNull: Bool {
    if case .scalar(let text, isPlain: true) = content { return text.isEmpty || text == "~" || text == "null" }
    return false
  }

  /// What it is, for messages.
  var kind: String {
    switch content {
    case .scalar: isNull ? "nothing" : "a text"
    case .sequence: "a list"
    case .mapping: "a section"
    }
  }
}
