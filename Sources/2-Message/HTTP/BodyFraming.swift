/// Where a body ends (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Equatable {
  /// There is none.
  case none
  /// After this many bytes.
  case length(Int)
  /// With the last chunk and its trailers.
  case chunked
  /// With the connection; an answer's only.
  case untilClose

  /// Whether there are no bytes of a body to read.
  public var isEmpty: Bool { self == .none || self == .length(0) }
}
