/// One field that may carry an input of the gate. Exactly one is wanted: two are as bad as none (wire.md, "A gated request").
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
}

/// All that the gate looks at in one request's head. Copies, since they outlive the head's buffer while the store is asked; an object,
/// since it is handed from step to step, and a struct of so many arrays would be counted up and down at each.
public final class RequestFacts: Sendable {
  /// The method as it was sent.
  public let method: [UInt8]
  /// The path in normal form: what was matched and what is forwarded.
  public let normalPath: [UInt8]
  /// The path as it was sent, without the query.
  public let rawPath: [UInt8]
  /// The raw query without `?`; nil when the target has no `?`.
  public let query: [UInt8]?
  /// Host and port as the request named them, for example `API.example.com:8443`.
  public let host: [UInt8]
  /// The port that a client leaves out: 443 where the client spoke TLS, else 80.
  public let defaultPort: UInt16
  /// The field that the route's policy names for the assertion.
  public let assertion: FieldInput
  /// The field that the route's policy names for the client data.
  public let clientData: FieldInput
  /// The field that the route's policy names for the key identifier.
  public let keyID: FieldInput
  /// What is known of the body.
  public let body: BodyLength

  /// The facts of one request.
  public init(
    method: [UInt8], normalPath: [UInt8], rawPath: [UInt8], query: [UInt8]?, host: [UInt8], defaultPort: UInt16,
    assertion: FieldInput, clientData: FieldInput, keyID: FieldInput, body: BodyLength
  ) {
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

  /// Whether the body is known to be empty.
  var hasNoBody: Bool { body == .none || body == .known(0) }
}
