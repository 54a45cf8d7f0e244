/// What a path contains that an upstream might read in another way than the gate; refused unless the route lists it (`allow_in_path`).
public struct PathFeatures: OptionSet, Sendable {
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
}
