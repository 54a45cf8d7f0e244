/// What went wrong in a fixture, in words for the person who reads the failed test.
public struct FixtureFailure: Error, CustomStringConvertible {
  /// What happened.
  public let description: String

  /// A failure.
  public init(_ description: String) { self.description = description }
}

/// What came over the wire breaks HTTP/1.1, or can be read in two ways.
public struct MalformedMessage: Error, CustomStringConvertible {
  /// What is wrong with it.
  public let description: String

  init(_ description: String) { self.description = description }
}
