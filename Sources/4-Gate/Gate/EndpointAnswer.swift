public import AppAttest
public import Bytes

/// What one of the gate's own endpoints answers; every answer has `Cache-Control: no-store`.
public enum EndpointAnswer: Sendable, Equatable {
  /// 200 with a fresh challenge and how many seconds it is good for.
  case challenge(String, expiresIn: Int)
  /// 200: the key is enrolled, now or by an earlier copy of the request.
  case enrolled(KeyIdentifier, environment: AttestationEnvironment, app: String)
  /// A problem document.
  case refused(Refusal)

  /// Appends the body of a 200: JSON, or for a challenge the bare text where the client did not ask for JSON. A refusal appends nothing.
  public func appendBody(to queue: inout ByteQueue, json: Bool) {
    switch self {
    case .challenge(let text, let seconds):
      guard json else { return queue.append(text) }
      queue.append("{\"challenge\": \"")
      queue.append(text)
      queue.append("\", \"expires_in\": ")
      queue.append(decimal: seconds)
      queue.append("}")
    case .enrolled(let key, let environment, let app):
      queue.append("{\"key_id\": \"")
      queue.append(key.base64)
      queue.append("\", \"environment\": \"")
      queue.append(environment.rawValue)
      queue.append("\", \"app\": \"")
      queue.append(app)
      queue.append("\"}")
    case .refused: break
    }
  }
}
