import Bytes

@testable import Routing

/// The normal form of a path is one form: normalising it changes nothing, and no reading of it climbs or has empty segments.
func checkPath(_ target: [UInt8]) throws(Broken) {
  guard case .path(let path) = RequestPath.normalise(target.span) else {
    try checkClosely(target, nil)
    return
  }
  try checkClosely(target, path)
  try require(isInside(path.rawPath, target.count) && path.rawPath.start == 0, "the path lies outside of the target")
  if let query = path.query {
    try require(isInside(query, target.count) && query.count > 0, "the query lies outside of the target")
    try require(target[query.start - 1] == UInt8(ascii: "?"), "the query does not follow a question mark")
  }
  let normal = [UInt8](copying: path.normalForm(in: target.span))
  try require(normal.allSatisfy { (0x21...0x7E).contains($0) }, "\(quoted(normal)) is not visible ASCII")
  try requireEqual(decoded(normal), decoded(Array(target[..<path.rawPath.end])), "the normal form means something else")
  try checkNormalForm(normal, path, query: path.query.map { Array(target[$0.start..<$0.end]) })
  try checkReadings(normal)
}

/// The quick look at a plain path judges as the scanner does.
private func checkClosely(_ target: [UInt8], _ path: RequestPath?) throws(Broken) {
  var scanner = PathScanner()
  let isRefused = scanner.scan(target.span) != nil
  if isRefused {
    try require(path == nil, "the scanner refuses what was taken")
    return
  }
  guard let path else { return }
  let isAlike =
    scanner.features == path.features && scanner.isVerbatim == path.isVerbatim && scanner.end == path.rawPath.end
    && scanner.hasEscapes == path.hasEscapes
  try require(isAlike, "the scanner judges otherwise")
}

private func checkNormalForm(_ normal: [UInt8], _ path: RequestPath, query: [UInt8]?) throws(Broken) {
  let target = normal + (query.map { [UInt8(ascii: "?")] + $0 } ?? [])
  guard case .path(let again) = RequestPath.normalise(target.span) else {
    throw Broken(description: "the normal form \(quoted(normal)) is ambiguous")
  }
  try require(again.isVerbatim, "the normal form \(quoted(normal)) has another one")
  try requireEqual(again.features, path.features, "the normal form has other features")
  try requireEqual(again.hasEscapes, path.hasEscapes, "the normal form has other escapes")
  try requireEqual(again.query.map { Array(target[$0.start..<$0.end]) }, query, "the normal form has another query")
}

/// However often an upstream decodes, and whatever it takes for a separator, there is nothing to climb by.
private func checkReadings(_ normal: [UInt8]) throws(Broken) {
  var reading = normal
  for _ in 0..<6 {
    let segments = reading.dropFirst().split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
    for (index, segment) in segments.enumerated() {
      let name = Array(segment.prefix { $0 != UInt8(ascii: ";") })
      for cut in [name, Array(name.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })] {
        try require(cut != Array(".".utf8) && cut != Array("..".utf8), "\(quoted(normal)) has a dot segment")
      }
      try require(!name.isEmpty || index == segments.count - 1 && segment.isEmpty, "\(quoted(normal)) has an empty segment")
    }
    try require(reading.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(quoted(normal)) has a control")
    let next = decoded(reading)
    if next == reading { return }
    reading = next
  }
  throw Broken(description: "\(quoted(normal)) is encoded too many times")
}

/// Every whole escape decoded, once.
private func decoded(_ bytes: [UInt8]) -> [UInt8] {
  var decoded: [UInt8] = []
  var index = 0
  while index < bytes.count {
    if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = Hexadecimal.value(bytes[index + 1]),
      let low = Hexadecimal.value(bytes[index + 2])
    {
      decoded.append(high << 4 | low)
      index += 3
    } else {
      decoded.append(bytes[index])
      index += 1
    }
  }
  return decoded
}
