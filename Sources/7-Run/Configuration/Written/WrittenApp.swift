import AppAttest

/// One entry of `apps:`.
struct WrittenApp {
  var place: Place
  var path: String
  var teamID: Placed<String>?
  var prefix: Placed<String>?
  var bundleID: Placed<String>?
  var environments: Placed<[Placed<AttestationEnvironment>]>?
  /// `apple`, or a file's path.
  var trustRoots: Placed<[Placed<String>]>?

  init(_ section: Section) {
    place = section.place
    path = section.path
    teamID = section.value("team_id", Self.team)
    if !section.has("team_id") { section.missing("team_id", "write Apple's team identifier, such as ABCDE12345") }
    prefix = section.value("app_id_prefix", Self.team)
    bundleID = section.value("bundle_id", Self.bundle)
    if !section.has("bundle_id") { section.missing("bundle_id", "write the app's bundle identifier, such as com.example.shop") }
    environments = section.list("environments", Self.environment)
    trustRoots = section.list("trust_roots") { $0 }
    section.finish()
  }

  static func environment(_ text: String) throws(Wrong) -> AttestationEnvironment {
    try oneOf(AttestationEnvironment.allCases.map { ($0.rawValue, $0) })(text)
  }

  private static func team(_ text: String) throws(Wrong) -> String {
    // A dot would make two apps of one App ID.
    guard text.utf8.count <= 64, !text.isEmpty, text.utf8.allSatisfy({ isLetterOrDigit($0) }) else {
      throw Wrong("must be letters and digits, such as ABCDE12345, and is \"\(text)\"")
    }
    return text
  }

  private static func bundle(_ text: String) throws(Wrong) -> String {
    let isValid = text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
    guard isValid, !text.isEmpty, text.utf8.count <= 155, !text.hasPrefix("."), !text.hasSuffix(".") else {
      throw Wrong("must be letters, digits, dots and hyphens, such as com.example.shop, and is \"\(text)\"")
    }
    return text
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: false
    }
  }
}
