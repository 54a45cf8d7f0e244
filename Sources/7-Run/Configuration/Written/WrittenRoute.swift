import Routing

/// One entry of `routes:`.
struct WrittenRoute {
  var place: Place
  var path: String
  var host: Placed<String>?
  var pattern: Placed<PathPattern>?
  var methods: Placed<[Placed<String>]>?
  /// Whether the key is there at all, right or wrong.
  var hasMethods: Bool
  var upstream: Placed<String>?
  var timeout: Placed<Int>?
  var allowInPath: Placed<[Placed<PathFeatures>]>?
  var upgrade: Placed<[Placed<String>]>?
  var rate: WrittenRate?
  var gate: WrittenGate?
  /// Where `gate` stands, or the route.
  var gatePlace: Place

  init(_ section: Section) {
    place = section.place
    path = section.path
    host = section.value("host", RouteText.host)
    pattern = section.value("path", RouteText.pattern)
    if !section.has("path") { section.missing("path", "write one, such as /v1/**, or /** for every path") }
    methods = section.list("methods", RouteText.method)
    hasMethods = section.has("methods")
    upstream = section.value("upstream") { $0 }
    if !section.has("upstream") { section.missing("upstream", "name one of upstreams") }
    timeout = section.value("timeout", Quantity.duration(10...86_400_000))
    allowInPath = section.list("allow_in_path", oneOf(PathFeatures.named.map { ($0.name, $0.feature) }))
    upgrade = section.list("upgrade", oneOf([("websocket", "websocket")]))
    rate = WrittenRate(section, other: "key")
    gatePlace = section.has("gate") ? section.placeOf("gate") : section.place
    let gate = section.wordOrSection("gate", WrittenGate.mode)
    self.gate = gate.section.map(WrittenGate.init) ?? gate.word.map(WrittenGate.init)
    section.finish()
  }
}
