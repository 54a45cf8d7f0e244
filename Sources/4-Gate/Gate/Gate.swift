public import AppAttest
import HTTP
public import Store

/// The order of checks of wire.md, over one worker's store and key cache. Confined to its worker.
public final class Gate {
  private let settings: GateSettings
  private let store: any Store

  /// A gate over one worker's store.
  public init(settings: GateSettings, store: any Store) {
    self.settings = settings
    self.store = store
  }

  /// Steps 1 to 5, and the rest where no body has to be read. `hint` is the key that the connection's last request was verified with.
  public func examine(_ facts: RequestFacts, policy: GatePolicy, hint: KeyIdentifier?) async -> Examination {
    if let admission = Admission.open(under: policy) { return .admit(admission) }
    return .refuse(Refusal(code: .internalError, detail: "the gate is not built yet", place: .route))
  }

  /// Steps 7 and 8, for a request whose body was asked for.
  public func admit(_ request: consuming ExaminedRequest, body: BodyEvidence) async -> Verdict {
    .refuse(Refusal(code: .internalError, detail: "the gate is not built yet", place: .route))
  }
}
