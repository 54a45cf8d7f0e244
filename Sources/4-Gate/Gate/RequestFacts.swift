public import Bytes
public import HTTP

/// One field that may carry an input of an endpoint. Exactly one is wanted: two are as bad as none (wire.md, "A gated request").
public enum FieldInput: Sendable, Equatable {
  /// The request has no such field.
  case absent
  /// The field's value, without white space around it.
  case one([UInt8])
  /// The field comes more than once.
  case repeated
}

/// What is known of a request's body before it is read.
public enum BodyLength: Sendable, Equatable {
  /// The request has none.
  case none
  /// `Content-Length`, in bytes.
  case known(Int)
  /// Chunked.
  case unknown

  /// Whether the body is known to be empty.
  var isEmpty: Bool { self == .none || self == .known(0) }
}

/// All that the gate looks at in one request's head: lent for as long as ``Gate/read(_:policy:)`` looks at it, so nothing is copied.
public struct RequestFacts: ~Escapable {
  /// The head that the ranges point into.
  let head: Span<UInt8>
  /// The method as it was sent.
  let method: ByteRange
  /// The path in normal form: what was matched and what is forwarded.
  let normalPath: Span<UInt8>
  /// The path as it was sent, without the query.
  let rawPath: ByteRange
  /// The raw query without `?`; empty when there is none.
  let query: ByteRange
  /// Host and port as the request named them, for example `API.example.com:8443`.
  let host: ByteRange
  /// The port that a client leaves out: 443 where the client spoke TLS, else 80.
  let defaultPort: UInt16
  /// The field that the route's policy names for the assertion. Exactly one is wanted: two are as bad as none.
  let assertion: FieldLookup
  /// The field that the route's policy names for the client data.
  let clientData: FieldLookup
  /// The field that the route's policy names for the key identifier.
  let keyID: FieldLookup
  /// What is known of the body.
  let body: BodyLength

  /// The facts of one request, whose ranges and values lie in `head`.
  @_lifetime(copy head, copy normalPath)
  public init(
    head: Span<UInt8>, method: ByteRange, normalPath: Span<UInt8>, rawPath: ByteRange, query: ByteRange, host: ByteRange,
    defaultPort: UInt16, assertion: FieldLookup, clientData: FieldLookup, keyID: FieldLookup, body: BodyLength
  ) {
    self.head = head
    self.method = method
    self.normalPath = normalPath
    self.rawPath = rawPath
    self.query = query
    self.host = host
    self.defaultPort = defaultPort
    self.assertion = assertion
    self.clientData = clientData
    self.keyID = keyID
    self.body = body
  }
}
