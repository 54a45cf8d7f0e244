/// Bytes that are not what they must be, and where that showed. A decoder throws it; whoever asked for the bytes turns it into a verdict.
public struct Malformed: Error, Sendable, Equatable {
  /// What is wrong, for a log line or for `inspect`, never for a client.
  public let reason: String
  /// Where, as an offset into the decoded bytes.
  public let offset: Int

  /// Something wrong at an offset.
  public init(_ reason: String, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

extension Malformed: CustomStringConvertible {
  /// The reason and the offset.
  public var description: String { "\(reason) (byte \(offset))" }
}
