/// Replaces `${NAME}` in values by the environment's variables. It happens after parsing, so a variable's text can never become structure;
/// `$${` stands for the characters `${`.
struct VariableExpansion {
  let variables: (String) -> String?
  let problems: ProblemList

  /// The node with every value expanded; keys are left alone. `path` is the node's own, for messages.
  func expanded(_ node: YAMLNode, path: String = "") -> YAMLNode {
    var node = node
    switch node.content {
    case .scalar(let text, let isPlain):
      if text.contains("${") { node.content = .scalar(expanded(text, at: node.place, path), isPlain: isPlain) }
    case .sequence(let nodes):
      node.content = .sequence(nodes.enumerated().map { expanded($0.element, path: "\(path)[\($0.offset)]") })
    case .mapping(let entries):
      node.content = .mapping(
        entries.map { entry in
          var entry = entry
          entry.value = expanded(entry.value, path: path.isEmpty ? entry.key : "\(path).\(entry.key)")
          return entry
        })
    }
    return node
  }

  private func expanded(_ text: String, at place: Place, _ path: String) -> String {
    var result = ""
    var rest = text[...]
    while let dollar = rest.firstIndex(of: "$") {
      result += rest[..<dollar]
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        result += "${"
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        let name = rest.dropFirst(2).prefix { $0 != "}" }
        let hasEnd = name.endIndex < rest.endIndex
        if hasEnd && Self.isName(name) {
          result += value(String(name), at: place, path)
        } else {
          problems.add(place, path, "\"${\" begins a variable, as in ${NAME}; write $${ for the characters themselves")
        }
        rest = hasEnd ? rest[name.endIndex...].dropFirst() : ""
      } else {
        result += "$"
        rest = rest.dropFirst()
      }
    }
    return result + rest
  }

  private func value(_ name: String, at place: Place, _ path: String) -> String {
    if let value = variables(name) { return value }
    problems.add(place, path, "the environment has no variable \(name); set it before the gate starts")
    return ""
  }

  private static func isName(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, first < 0x30 || first > 0x39 else { return false }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }
}
