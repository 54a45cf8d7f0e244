public import AppAttest
public import Store

/// What one route demands of a request: `gate:` of proxy.yaml, with every default filled in.
public struct GatePolicy: Sendable {
  /// What a refusal means.
  public enum Mode: String, Sendable {
    /// A request that fails a check is answered by the gate.
    case enforce
    /// Checks are made and told to the upstream, never answered for.
    case monitor
    /// No checks.
    case off
  }

  /// Which part of the request is the client data.
  public enum ClientDataProfile: String, Sendable {
    /// A JSON object in a header.
    case json
    /// The raw body.
    case body
  }

  /// How `path` of the client data is compared.
  public enum PathForm: String, Sendable {
    /// Percent-decoded, without a final slash, as `URL.path` gives it.
    case decoded
    /// The raw target path.
    case encoded
  }

  /// Members that the client data must have. `query` follows from ``bindsQuery``.
  public struct Binding: OptionSet, Sendable {
    /// The set's bits.
    public let rawValue: UInt8
    /// A set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `method`.
    public static let method = Binding(rawValue: 1)
    /// `path`.
    public static let path = Binding(rawValue: 2)
    /// `bodySHA256`.
    public static let body = Binding(rawValue: 4)
    /// `host`.
    public static let host = Binding(rawValue: 8)
  }

  /// The names of the request fields that carry the gate's inputs, in lower case.
  public struct InputFields: Sendable, Equatable {
    /// Default `x-app-attest-assertion`.
    public var assertion = "x-app-attest-assertion"
    /// Default `x-app-attest-client-data`.
    public var clientData = "x-app-attest-client-data"
    /// Default `x-app-attest-key-id`.
    public var keyID = "x-app-attest-key-id"
    /// The names of wire.md.
    public init() {}
  }

  /// What a refusal means.
  public var mode: Mode = .enforce
  /// App IDs that are admitted, with the environments that each may come from.
  public var apps: [String: Set<AttestationEnvironment>] = [:]
  /// Members that the client data must have (`bind`).
  public var binding: Binding = [.method, .path, .body]
  /// Whether a query must be bound (`query: bound`).
  public var bindsQuery = true
  /// How the path is compared (`path_form`).
  public var pathForm: PathForm = .decoded
  /// Which part of the request is the client data (`client_data`).
  public var clientData: ClientDataProfile = .json
  /// Whether the request must name its key (`key_id: required`).
  public var requiresKeyID = false
  /// How counters are accepted (`counter`).
  public var counter: CounterRule = .strict
  /// How often one verified key may pass (`rate.key` of the route); nil for as often as it likes.
  public var keyRate: KeyRate?
  /// In bytes.
  public var bodyBytesMax = 1 << 20
  /// Beyond this many bytes a body goes to a temporary file.
  public var bodyMemoryBytes = 64 << 10
  /// `on_store_failure: allow`.
  public var admitsOnStoreFailure = false
  /// Where the inputs are (`headers`).
  public var inputs = InputFields()
  /// Whether the inputs are passed on to the upstream.
  public var keepsInputFields = false
  /// Whether `Cache-Control: private` is added to answers (`cache: private`).
  public var marksAnswersPrivate = true

  /// The defaults of config.md.
  public init() {}
}

/// A route's policy as requests hold on to it: by reference, for the policy itself would be copied with all its parts at each step.
@dynamicMemberLookup
public final class SharedPolicy: Sendable {
  /// The policy.
  public let value: GatePolicy

  /// Shares a policy.
  public init(_ value: GatePolicy) { self.value = value }

  /// A part of the policy.
  @inlinable
  public subscript<Part>(dynamicMember part: KeyPath<GatePolicy, Part>) -> Part { value[keyPath: part] }
}
