import TLS

/// `tls:` of a listener.
struct WrittenListenerTLS {
  /// A certificate and its key.
  struct Pair {
    var place: Place
    var path: String
    var certificate: Placed<String>?
    var privateKey: Placed<String>?

    init(_ section: Section) {
      place = section.place
      path = section.path
      certificate = section.value("certificate", FileText.path)
      privateKey = section.value("private_key", FileText.path)
    }
  }

  /// The lone pair beside the other keys.
  var pair: Pair
  /// `certificates`, nil when the key is not there.
  var pairs: [Pair]?
  var minimumVersion: Placed<TLSVersion>?
  var clientAuthority: Placed<String>?
  var handshakeTimeout: Placed<Int>?

  init(_ section: Section) {
    pair = Pair(section)
    pairs = section.sections("certificates")?.map { section in
      let pair = Pair(section)
      section.finish()
      return pair
    }
    minimumVersion = section.value("min_version", oneOf([("1.2", .tls12), ("1.3", .tls13)]))
    clientAuthority = section.value("client_ca", FileText.path)
    handshakeTimeout = section.value("handshake_timeout", Quantity.duration(100...600_000))
    section.finish()
  }
}

/// Paths of files.
enum FileText {
  /// Any text but none.
  static func path(_ text: String) throws(Wrong) -> String {
    guard !text.isEmpty else { throw Wrong("names no file") }
    return text
  }
}
