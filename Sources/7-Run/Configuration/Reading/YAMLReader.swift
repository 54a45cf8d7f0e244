/// Reads one YAML document into nodes: what a configuration needs of YAML and no more. One document, keys that are texts,
/// no tags but those of the core schema, no merge keys, and limits on everything an alias can blow up.
struct YAMLReader {
  /// The longest text that is read.
  static let bytesMax = 1 << 20
  /// How deep sections and lists may lie in each other.
  static let depthMax = 32
  /// Nodes, with every alias counted as what it stands for.
  static let nodesMax = 20_000

  private let events: YAMLEvents
  private var anchors: [String: YAMLNode] = [:]
  private var nodeCount = 0

  /// The document's root; nil when the text holds none.
  static func read(_ text: [UInt8]) throws(YAMLFailure) -> YAMLNode? {
    guard text.count <= bytesMax else { throw YAMLFailure(place: Place(line: 1, column: 1), message: "is longer than 1 MiB") }
    var reader = YAMLReader(events: YAMLEvents(text))
    return try reader.document()
  }

  private init(events: YAMLEvents) { self.events = events }

  private mutating func document() throws(YAMLFailure) -> YAMLNode? {
    _ = try events.next()
    guard case .documentStart = try events.next() else { return nil }
    let root = try node(try events.next(), depth: 0)
    _ = try events.next()
    guard case .streamEnd = try events.next() else {
      throw YAMLFailure(place: root.place, message: "holds more than one document; write one, without a second \"---\"")
    }
    return root
  }

  private mutating func node(_ event: YAMLEvent, depth: Int) throws(YAMLFailure) -> YAMLNode {
    switch event {
    case .scalar(let text, let isPlain, let tag, let anchor, let place):
      try check(tag, at: place)
      try count(1, at: place)
      return keep(YAMLNode(content: .scalar(text, isPlain: isPlain && tag == nil), place: place, nodeCount: 1), as: anchor)
    case .alias(let name, let place):
      guard let node = anchors[name] else { throw YAMLFailure(place: place, message: "no anchor \"&\(name)\" stands before this alias") }
      try count(node.nodeCount, at: place)
      return node
    case .sequenceStart(let tag, let anchor, let place):
      try open(tag, depth, place)
      return keep(try sequence(at: place, depth: depth), as: anchor)
    case .mappingStart(let tag, let anchor, let place):
      try open(tag, depth, place)
      return keep(try mapping(at: place, depth: depth), as: anchor)
    default:
      throw YAMLFailure(place: Place(line: 1, column: 1), message: "is not YAML: the document breaks off")
    }
  }

  private mutating func sequence(at place: Place, depth: Int) throws(YAMLFailure) -> YAMLNode {
    var nodes: [YAMLNode] = []
    while true {
      let event = try events.next()
      if case .sequenceEnd = event { break }
      nodes.append(try node(event, depth: depth + 1))
    }
    return YAMLNode(content: .sequence(nodes), place: place, nodeCount: nodes.reduce(1) { $0 + $1.nodeCount })
  }

  private mutating func mapping(at place: Place, depth: Int) throws(YAMLFailure) -> YAMLNode {
    var entries: [YAMLNode.Entry] = []
    var inside = 1
    while true {
      let event = try events.next()
      if case .mappingEnd = event { break }
      let key = try node(event, depth: depth + 1)
      guard case .scalar(let name, _) = key.content else {
        throw YAMLFailure(place: key.place, message: "a key must be a text, and this is \(key.kind)")
      }
      let value = try node(try events.next(), depth: depth + 1)
      entries.append(YAMLNode.Entry(key: name, keyPlace: key.place, value: value))
      inside += 1 + value.nodeCount
    }
    return YAMLNode(content: .mapping(entries), place: place, nodeCount: inside)
  }

  private mutating func open(_ tag: String?, _ depth: Int, _ place: Place) throws(YAMLFailure) {
    try check(tag, at: place)
    try count(1, at: place)
    guard depth < Self.depthMax else { throw YAMLFailure(place: place, message: "lies deeper than \(Self.depthMax) levels") }
  }

  private mutating func keep(_ node: YAMLNode, as anchor: String?) -> YAMLNode {
    if let anchor { anchors[anchor] = node }
    return node
  }

  private mutating func count(_ nodes: Int, at place: Place) throws(YAMLFailure) {
    nodeCount += nodes
    guard nodeCount <= Self.nodesMax else {
      throw YAMLFailure(place: place, message: "holds more than \(Self.nodesMax) values, aliases counted as what they stand for")
    }
  }

  private func check(_ tag: String?, at place: Place) throws(YAMLFailure) {
    guard let tag else { return }
    let core = ["str", "int", "bool", "null", "float", "seq", "map"].map { "tag:yaml.org,2002:" + $0 }
    guard core.contains(tag) else { throw YAMLFailure(place: place, message: "the tag \"\(tag)\" has no meaning here; remove it") }
  }
}
