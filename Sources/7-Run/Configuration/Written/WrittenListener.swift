import Exchange

/// One entry of `listeners:`.
struct WrittenListener {
  var place: Place
  var path: String
  var bind: Placed<BindAddress>?
  var tls: WrittenListenerTLS?
  var trustedProxies: Placed<[Placed<TrustedPeerText>]>?
  /// Whether the key is there at all, right or wrong.
  var trustedProxiesIsThere: Bool
  var proxyProtocol: Placed<Bool>?
  var underscoreFields: Placed<ListenerSettings.UnderscoreFields>?
  var headBytes: Placed<Int>?
  var requestLineBytes: Placed<Int>?
  var headerCount: Placed<Int>?
  var connections: Placed<Int>?
  var connectionsPerAddress: Placed<Int>?
  var requestsPerConnection: Placed<Int>?
  var bodyMinRate: Placed<Int>?
  var headTimeout: Placed<Int>?
  var bodyTimeout: Placed<Int>?
  var idleTimeout: Placed<Int>?
  var writeTimeout: Placed<Int>?
  var writeMinRate: Placed<Int>?

  init(_ section: Section) {
    place = section.place
    path = section.path
    bind = section.value("bind", Address.bind)
    tls = section.section("tls").map(WrittenListenerTLS.init)
    trustedProxies = section.list("trusted_proxies") { (text: String) throws(Wrong) -> TrustedPeerText in try TrustedPeerText(text) }
    trustedProxiesIsThere = section.has("trusted_proxies")
    proxyProtocol = section.value("proxy_protocol", Quantity.flag)
    underscoreFields = section.value("underscore_headers", oneOf([("drop", .drop), ("reject", .reject), ("keep", .keep)]))
    headTimeout = section.value("head_timeout", Quantity.duration(10...3_600_000))
    bodyTimeout = section.value("body_timeout", Quantity.duration(10...3_600_000))
    bodyMinRate = section.value("body_min_rate", RateText.byteRate)
    idleTimeout = section.value("idle_timeout", Quantity.duration(10...86_400_000))
    writeTimeout = section.value("write_timeout", Quantity.duration(10...3_600_000))
    writeMinRate = section.value("write_min_rate", RateText.byteRate)
    let limits = section.section("limits")
    headBytes = limits?.value("head_bytes", Quantity.size(1 << 10...1 << 20))
    requestLineBytes = limits?.value("request_line_bytes", Quantity.size(512...1 << 20))
    headerCount = limits?.value("header_count", Quantity.number(1...1_000))
    connections = limits?.value("connections", Quantity.number(1...1_000_000))
    connectionsPerAddress = limits?.value("connections_per_address", Quantity.number(1...1_000_000))
    requestsPerConnection = limits?.value("requests_per_connection", Quantity.number(1...1_000_000_000))
    limits?.finish()
    section.finish()
  }
}
