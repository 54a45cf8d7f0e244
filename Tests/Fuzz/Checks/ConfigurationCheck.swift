@testable import Configuration

/// A document that is read means the same after it has been written again; and whatever the text, the loader answers with a
/// configuration or with problems that stand in it.
func checkConfiguration(_ text: [UInt8]) throws(Broken) {
  if let node = try? YAMLReader.read(text) {
    let written = write(node)
    do {
      guard let again = try YAMLReader.read(Array(written.utf8)) else { throw Broken(description: "is written as nothing") }
      try require(isSame(node, again), "was written as \(written.debugDescription), which reads otherwise")
    } catch let failure as YAMLFailure {
      throw Broken(description: "was written as \(written.debugDescription), which is refused: \(failure)")
    } catch let broken as Broken {
      throw broken
    } catch {
      throw Broken(description: "\(error)")
    }
  }
  try checkLoading(text)
}

private func checkLoading(_ text: [UInt8]) throws(Broken) {
  let environment = ConfigurationEnvironment(
    variable: { $0 == "TOKEN" ? "a: b" : nil }, processorCount: 2, unixSeconds: 1_790_000_000)
  let lineCount = text.count { $0 == 0x0A || $0 == 0x0D } + 1
  do throws(ConfigurationFailure) {
    let configuration = try ConfigurationLoader.load(text: text, file: "none/proxy.yaml", environment: environment)
    try? require(!configuration.listeners.isEmpty && !configuration.routes.isEmpty, "a configuration that does nothing")
  } catch {
    try require(!error.problems.isEmpty, "refused without a reason")
    for problem in error.problems {
      // Unicode has further line ends, which YAML 1.1 knows.
      try require(problem.line >= 1 && problem.column >= 1, "a problem at no place: \(problem)")
      try require(problem.line <= lineCount + text.count / 2, "a problem behind the end: \(problem)")
      try require(!problem.message.isEmpty, "a problem without words")
    }
  }
}

/// In flow style, every text in double quotes: what was plain may then mean a text, so only structure and texts are compared.
private func write(_ node: YAMLNode) -> String {
  switch node.content {
  case .scalar(let text, _): quotedScalar(text)
  case .sequence(let nodes): "[" + nodes.map(write).joined(separator: ", ") + "]"
  case .mapping(let entries): "{" + entries.map { "? " + quotedScalar($0.key) + " : " + write($0.value) }.joined(separator: ", ") + "}"
  }
}

private func quotedScalar(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"", "\\": quoted += "\\\(scalar)"
    case "\u{20}"..<"\u{7F}": quoted.unicodeScalars.append(scalar)
    default:
      let digits = String(scalar.value, radix: 16)
      quoted += "\\U" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
  }
  return quoted + "\""
}

private func isSame(_ left: YAMLNode, _ right: YAMLNode) -> Bool {
  switch (left.content, right.content) {
  case (.scalar(let left, _), .scalar(let right, _)): Array(left.utf8) == Array(right.utf8)
  case (.sequence(let left), .sequence(let right)): left.count == right.count && zip(left, right).allSatisfy(isSame)
  case (.mapping(let left), .mapping(let right)):
    left.count == right.count && zip(left, right).allSatisfy { Array($0.key.utf8) == Array($1.key.utf8) && isSame($0.value, $1.value) }
  default: false
  }
}
