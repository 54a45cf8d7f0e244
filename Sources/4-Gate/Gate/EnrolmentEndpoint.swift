import HTTP
public import Store

/// `POST /attest/verify`, in the order of wire.md, "Enrolment, in this order". Confined to its worker.
public final class EnrolmentEndpoint {
  /// A longer body is `body_too_large`.
  public static let bodyBytesMax = 64 << 10

  private let settings: GateSettings
  private let store: any Store

  /// The enrolment endpoint over one worker's store.
  public init(settings: GateSettings, store: any Store) {
    self.settings = settings
    self.store = store
  }

  /// Answers one request, whose body was read whole.
  public func enroll(body: [UInt8]) async -> EndpointAnswer {
    .refused(Refusal(code: .internalError, detail: "the gate is not built yet", place: .endpoint))
  }
}
