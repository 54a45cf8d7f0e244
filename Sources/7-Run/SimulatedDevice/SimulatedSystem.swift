/// Which generation of systems a device imitates: what it writes behind the authenticator data, and with which flags.
public enum SimulatedSystem: Sendable, Equatable {
  /// Up to iOS 26: no extension map, flags 0x40 in attestations and assertions alike.
  case iOS26
  /// From iOS 27 on: a map with launch category and bundle version, flags 0xC0.
  case iOS27(category: UInt32, bundleVersion: String)

  var flags: UInt8 {
    switch self {
    case .iOS26: 0x40
    case .iOS27: 0xC0
    }
  }

  /// The encoded map; empty when there is none. The category is a byte string of four, least significant first.
  var extensions: [UInt8] {
    guard case .iOS27(let category, let bundleVersion) = self else { return [] }
    var map = CBORWriter()
    map.map(2)
    map.text("apple_bundle_version_01")
    map.text(bundleVersion)
    map.text("apple_validation_category_01")
    map.byteString((0..<4).map { UInt8(truncatingIfNeeded: category >> UInt32(8 * $0)) })
    return map.bytes
  }
}
