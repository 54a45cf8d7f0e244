import HTTP
public import Store

/// `GET /attest/challenge` and `GET /assert/challenge`. Confined to its worker; issuing costs no store access.
public final class ChallengeEndpoint {
  private let settings: GateSettings
  private let store: any Store

  /// The challenge endpoints over one worker's store.
  public init(settings: GateSettings, store: any Store) {
    self.settings = settings
    self.store = store
  }

  /// A challenge for `attestKey`.
  public func attestationChallenge() -> EndpointAnswer {
    .refused(Refusal(code: .internalError, detail: "the gate is not built yet", place: .endpoint))
  }

  /// A challenge for `generateAssertion`, good for one key alone where the field `X-App-Attest-Key-Id` or `key_id` of the raw `query` names it.
  public func assertionChallenge(keyID: FieldInput, query: [UInt8]?) -> EndpointAnswer {
    .refused(Refusal(code: .internalError, detail: "the gate is not built yet", place: .endpoint))
  }
}
