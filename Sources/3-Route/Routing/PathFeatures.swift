/// What a path contains that an upstream might read in another way than the gate; refused unless the route lists it (`allow_in_path`).
public struct PathFeatures: OptionSet, Sendable, Hashable {
  /// The set's bits.
  public let rawValue: UInt8

  /// A set from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `%2f`.
  public static let encodedSlash = PathFeatures(rawValue: 1)
  /// `%5c`.
  public static let encodedBackslash = PathFeatures(rawValue: 2)
  /// `%25`.
  public static let encodedPercent = PathFeatures(rawValue: 4)
  /// `;` or `%3b`.
  public static let semicolon = PathFeatures(rawValue: 8)
  /// `%3f` and `%23`, an encoded `?` or `#`: where the path ends for whoever decodes it first.
  public static let encodedDelimiter = PathFeatures(rawValue: 16)

  /// Each feature under its name in proxy.yaml.
  public static let named: [(name: String, feature: PathFeatures)] = [
    ("encoded_slash", .encodedSlash), ("encoded_backslash", .encodedBackslash), ("encoded_percent", .encodedPercent),
    ("semicolon", .semicolon), ("encoded_delimiter", .encodedDelimiter),
  ]

  /// The names of the set's features, as proxy.yaml writes them.
  public var names: [String] { Self.named.filter { contains($0.feature) }.map(\.name) }

  /// The feature that an escape of `byte` is, if it is one.
  static func ofEscaped(_ byte: UInt8) -> PathFeatures {
    switch byte {
    case UInt8(ascii: "/"): .encodedSlash
    case UInt8(ascii: "\\"): .encodedBackslash
    case UInt8(ascii: "%"): .encodedPercent
    case UInt8(ascii: ";"): .semicolon
    case UInt8(ascii: "?"), UInt8(ascii: "#"): .encodedDelimiter
    default: []
    }
  }
}
