import Bytes

/// A request's method, as far as the gate treats methods differently (RFC 9110 section 9).
public enum RequestMethod: UInt8, Sendable {
  case get, head, post, put, delete, options, patch, connect, trace
  /// Any other token.
  case other

  /// The method with this name; names are case-sensitive.
  public init(_ name: Span<UInt8>) {
    self = .other
    switch name.count {
    case 3: if name.equals("GET") { self = .get } else if name.equals("PUT") { self = .put }
    case 4: if name.equals("POST") { self = .post } else if name.equals("HEAD") { self = .head }
    case 5: if name.equals("PATCH") { self = .patch } else if name.equals("TRACE") { self = .trace }
    case 6: if name.equals("DELETE") { self = .delete }
    case 7: if name.equals("OPTIONS") { self = .options } else if name.equals("CONNECT") { self = .connect }
    default: break
    }
  }

  /// Whether a request may be sent a second time without harm when its answer never came (RFC 9110 section 9.2.2).
  public var isIdempotent: Bool {
    switch self {
    case .get, .head, .put, .delete, .options, .trace: true
    case .post, .patch, .connect, .other: false
    }
  }
}
