/// `tls:` towards a server: of an upstream, or of Redis.
struct WrittenClientTLS {
  var place: Place
  var path: String
  var authority: Placed<String>?
  var serverName: Placed<String>?
  /// `client_certificate`, nil when the key is not there.
  var pair: WrittenListenerTLS.Pair?

  init(_ section: Section) {
    place = section.place
    path = section.path
    authority = section.value("ca", FileText.path)
    serverName = section.value("server_name", Address.hostName)
    pair = section.section("client_certificate").map { section in
      let pair = WrittenListenerTLS.Pair(section)
      section.finish()
      return pair
    }
    section.finish()
  }
}
