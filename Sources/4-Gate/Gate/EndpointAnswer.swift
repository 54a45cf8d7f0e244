public import AppAttest
import Bytes
public import HTTP

/// What one of the gate's own endpoints answers.
public enum EndpointAnswer: Sendable, Equatable {
  /// 200 with a fresh challenge and how many seconds it is good for.
  case challenge(String, expiresIn: Int)
  /// 200: the key is enrolled, now or by an earlier copy of the request.
  case enrolled(KeyIdentifier, environment: AttestationEnvironment, app: String)
  /// A problem document.
  case refused(Refusal)

  /// The answer to send. A challenge is bare text unless the client asked for JSON.
  public func answer(asksForJSON: Bool, requestID: [UInt8]) -> LocalAnswer {
    var body = ByteQueue()
    switch self {
    case .refused(let refusal): return refusal.document(requestID: requestID).answer
    case .challenge(let text, _) where !asksForJSON: return LocalAnswer(status: 200, body: Array(text.utf8))
    case .challenge(let text, let seconds):
      body.append("{\"challenge\":")
      JSONText.append(text, to: &body)
      body.append(",\"expires_in\":")
      body.append(decimal: seconds)
    case .enrolled(let key, let environment, let app):
      body.append("{\"key_id\":")
      JSONText.append(key.base64, to: &body)
      body.append(",\"environment\":")
      JSONText.append(environment.rawValue, to: &body)
      body.append(",\"app\":")
      JSONText.append(app, to: &body)
    }
    body.append("}")
    return LocalAnswer(status: 200, contentType: "application/json", body: body.copied())
  }
}
