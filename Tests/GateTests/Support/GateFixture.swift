import AppAttest
import Bytes
import Cryptography
import EventLoop
import HTTP
import Store
import Testing

@testable import Gate

/// A gate over a scripted store, with two configured apps, a device of the first, and a clock that stands still.
final class GateFixture {
  /// Moved by tests.
  final class Time {
    var unixSeconds = 1_800_000_000
    var monotonic = Instant(nanoseconds: 1_000_000_000)
  }

  let time = Time()
  let store: ScriptedStore
  let keys = KeyCache()
  let settings: GateSettings
  let clock: GateClock
  let device = TestDevice()
  var gate: Gate
  var policy = GatePolicy()

  init(isEnrolled: Bool = true, store: ScriptedStore = ScriptedStore()) async throws {
    self.store = store
    settings = GateSettings(apps: [AttestedApp(TestDevice.shop), AttestedApp(TestDevice.bank)])
    let time = self.time
    clock = GateClock(unixSeconds: { time.unixSeconds }, monotonic: { time.monotonic })
    gate = Gate(settings: settings, store: store, keys: keys, clock: clock)
    policy.apps = [TestDevice.shop.description: [.production]]
    if isEnrolled { try await enroll(device.enrolledKey()) }
  }

  func enroll(_ key: EnrolledKey) async throws {
    let text = challenge(.attest)
    let opened = try await store.openChallenge(text, purpose: .attest, key: nil, now: time.unixSeconds).get()
    let mark = try #require(opened.mark(for: key.identifier, fingerprint: SHA256.digest(text.span)))
    let enrolment = Enrolment(
      key: key, attestation: SHA256.digest(text.span), receipt: [1], category: nil, bundleVersion: nil, challenge: mark,
      enrolledAt: time.unixSeconds)
    #expect(try await store.enroll(enrolment) == .enrolled)
  }

  func challenge(_ purpose: ChallengePurpose = .assert, boundTo key: KeyIdentifier? = nil, seconds: Int = 300) -> [UInt8] {
    Array((store.issueChallenge(purpose: purpose, boundTo: key, timeToLive: seconds, now: time.unixSeconds) ?? "").utf8)
  }

  /// A request as the app sends it, before anything is changed on the way.
  func request(_ change: (inout SignedRequestParts) -> Void = { _ in }) -> SentRequest {
    var parts = SignedRequestParts(device: device, challenge: challenge())
    change(&parts)
    return parts.facts
  }

  /// What becomes of a request whose body is `body`.
  func judge(_ request: SentRequest, body: [UInt8] = [], hint: KeyIdentifier? = nil) async -> Outcome {
    let read = ReadBody(byteCount: body.count, digest: SHA256.digest(body.span))
    let evidence: BodyEvidence = body.count > policy.bodyBytesMax ? .tooLarge : .read(read)
    return switch await gate.verdict(request, policy: policy, hint: hint, body: evidence) {
    case .admit(let admission): Outcome(admission)
    case .refuse(let refusal): Outcome(refusal)
    }
  }
}

extension Gate {
  /// Every step, one behind the other, for a request whose body is given if it is asked for.
  func verdict(_ request: SentRequest, policy: GatePolicy, hint: KeyIdentifier? = nil, body: BodyEvidence = .notStored) async -> Verdict {
    switch await examine(request, policy: policy, hint: hint) {
    case .needsBody(let examined): await verdict(await judge(examined, body: body))
    case .judged(let judgement): await verdict(judgement)
    }
  }

  /// Steps 2 to 5, and step 7 where no body has to be read.
  func examine(_ request: SentRequest, policy: GatePolicy, hint: KeyIdentifier? = nil) async -> Examination {
    await examine(request.withFacts { read($0, policy: SharedPolicy(policy)) }, hint: hint)
  }

  private func verdict(_ judgement: consuming Judgement) async -> Verdict {
    switch consume judgement {
    case .passed(let passed): await admit(passed)
    case .admit(let admission): .admit(admission)
    case .refuse(let refusal): .refuse(refusal)
    }
  }
}

/// A verdict that a test can look at twice.
struct Outcome {
  var refusal: Refusal?
  var decision: Decision?
  /// The header lines that the upstream sees.
  var fields = ""
  var verifiedKey: KeyIdentifier?

  init(_ admission: consuming Admission) {
    decision = admission.decision
    verifiedKey = admission.verifiedKey
    var queue = ByteQueue()
    admission.appendFields(to: &queue)
    fields = String(decoding: queue.copied(), as: UTF8.self)
  }

  init(_ refusal: Refusal) {
    self.refusal = refusal
    decision = refusal.decision
  }

  var code: ProblemCode? { refusal?.code }
  var isVerified: Bool { refusal == nil && decision?.outcome == .verified }
  var isUnverified: Bool { refusal == nil && decision?.outcome == .unverified }
}

/// What an app signs and sends, each part changeable.
struct SignedRequestParts {
  var device: TestDevice
  var method = "POST"
  var path = "/v1/orders"
  var query: String?
  var host = "api.example.com"
  var body: [UInt8] = Array("{}".utf8)
  var challenge: [UInt8]?
  var namesKeyInHeader = false
  var keyMember: KeyIdentifier?
  var counter: UInt32?
  var signsForApp: AppIdentity?
  /// The members besides the challenge, as they were signed; nil leaves one out.
  var signedMethod: String? = "POST"
  var signedPath: String? = "/v1/orders"
  var signedQuery: String?
  var signedHost: String?
  var signedBody: [UInt8]? = Array("{}".utf8)
  /// Sent in place of what was signed.
  var sentAssertion: FieldInput?
  var sentClientData: FieldInput?
  var sentKeyID: FieldInput?
  /// Changes the client data after signing.
  var changesClientData: ([UInt8]) -> [UInt8] = { $0 }

  init(device: TestDevice, challenge: [UInt8]) {
    self.device = device
    self.challenge = challenge
  }

  var clientData: [UInt8] {
    var members: [(String, String)] = []
    if let challenge { members.append(("challenge", String(decoding: challenge, as: UTF8.self))) }
    if let signedMethod { members.append(("method", signedMethod)) }
    if let signedPath { members.append(("path", signedPath.replacing("/", with: "\\/"))) }
    if let signedQuery { members.append(("query", signedQuery)) }
    if let signedHost { members.append(("host", signedHost)) }
    if let signedBody {
      members.append(("bodySHA256", Base64.encode(SHA256.digest(signedBody.span).bytes.span).replacing("/", with: "\\/")))
    }
    if let keyMember { members.append(("keyId", keyMember.base64.replacing("/", with: "\\/"))) }
    return Array(("{" + members.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",") + "}").utf8)
  }

  var facts: SentRequest {
    let clientData = self.clientData
    let assertion = device.assertion(over: clientData, counter: counter, app: signsForApp)
    return SentRequest(
      method: Array(method.utf8), normalPath: Array(path.utf8), rawPath: Array(path.utf8), query: query.map { Array($0.utf8) },
      host: Array(host.utf8), defaultPort: 443, assertion: sentAssertion ?? .one(Array(Base64.encode(assertion.span).utf8)),
      clientData: sentClientData ?? .one(Array(Base64.encode(changesClientData(clientData).span).utf8)),
      keyID: sentKeyID ?? (namesKeyInHeader ? .one(Array(device.identifier.base64.utf8)) : .absent),
      body: body.isEmpty ? .none : .known(body.count))
  }
}

/// The parts of a head, kept until the gate looks at them.
struct SentRequest {
  var method: [UInt8]
  var normalPath: [UInt8]
  var rawPath: [UInt8]
  var query: [UInt8]?
  var host: [UInt8]
  var defaultPort: UInt16
  var assertion: FieldInput
  var clientData: FieldInput
  var keyID: FieldInput
  var body: BodyLength

  /// The same request with another body.
  func with(body: BodyLength) -> SentRequest {
    var other = self
    other.body = body
    return other
  }

  /// Lends what the gate looks at.
  func withFacts<Result: ~Copyable>(_ look: (RequestFacts) -> Result) -> Result {
    var head = [UInt8]()
    func place(_ bytes: [UInt8]) -> ByteRange {
      defer { head += bytes }
      return ByteRange(start: head.count, count: bytes.count)
    }
    func place(_ input: FieldInput) -> FieldLookup {
      switch input {
      case .absent: .absent
      case .one(let value): .one(place(value))
      case .repeated: .repeated
      }
    }
    let (method, rawPath, query, host) = (place(method), place(rawPath), place(query ?? []), place(host))
    let (assertion, clientData, keyID) = (place(assertion), place(clientData), place(keyID))
    return look(
      RequestFacts(
        head: head.span, method: method, normalPath: normalPath.span, rawPath: rawPath, query: query, host: host, defaultPort: defaultPort,
        assertion: assertion, clientData: clientData, keyID: keyID, body: body))
  }
}
