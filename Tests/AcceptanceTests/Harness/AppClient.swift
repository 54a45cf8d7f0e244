import AppAttest
import Cryptography
import Fixtures
import Foundation
import SimulatedDevice

/// A request as an app sends it: it can be sent again, or be changed on the way.
struct SignedRequest: Sendable {
  var method: String
  var target: String
  var fields: [String]
  var body: String

  var text: String {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: api.example.com", "Content-Length: \(body.utf8.count)"] + fields
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
  }

  /// The same request with something else in one place.
  func with(_ change: (inout SignedRequest) -> Void) -> SignedRequest {
    var changed = self
    change(&changed)
    return changed
  }
}

/// One of the three apps of the field. It knows the gate's codes and nothing else of it.
final class AppClient {
  enum Style: String, Sendable, CaseIterable {
    /// JSON client data, no key identifier: the gate recovers the key from the signature.
    case unnamed
    /// JSON client data, and its key in a field.
    case named
    /// Knows its body alone, and calls its field `X-App-Assertion`.
    case bodyOnly
  }

  /// What it signs; members in the order of the alphabet do not matter to the gate.
  private struct ClientData: Encodable {
    var challenge: String
    var method: String
    var path: String
    var query: String?
    var bodySHA256: String
  }

  let style: Style
  let identity: AppIdentity
  let authority: SimulatedAuthority
  var port: UInt16
  /// The device's key; nil before the first enrolment.
  private(set) var device: SimulatedDevice
  private(set) var isEnrolled = false
  private(set) var enrolmentCount = 0
  private var namesKey: Bool
  private var offeredChallenge: String?

  init(_ style: Style, identity: AppIdentity, authority: SimulatedAuthority, port: UInt16) {
    self.style = style
    self.identity = identity
    self.authority = authority
    self.port = port
    device = SimulatedDevice(app: identity)
    namesKey = style == .named
  }

  var keyIdentifier: String { device.keyIdentifier.base64 }

  /// Where this app buys.
  var target: String { style == .bodyOnly ? "/body" : "/v1/orders" }

  // MARK: Enrolling

  func challenge(_ purpose: String) throws -> String {
    let answer = try exchange(port: port, "GET /\(purpose)/challenge HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    guard answer.status == 200 else { throw Refused(problem: try problem(in: answer)) }
    return answer.text
  }

  /// The request that enrols the key with this attestation.
  func enrolment(challenge: String, attestation: [UInt8]? = nil, authority: SimulatedAuthority? = nil) throws -> SignedRequest {
    let object = try attestation ?? attest(challenge: challenge, authority: authority)
    let body = [
      style == .bodyOnly ? "keyId" : "key_id": keyIdentifier, "attestation": Data(object).base64EncodedString(),
      "challenge": Data(challenge.utf8).base64EncodedString(),
    ]
    let json = try JSONEncoder().encode(body)
    return SignedRequest(
      method: "POST", target: "/attest/verify", fields: ["Content-Type: application/json"], body: String(decoding: json, as: UTF8.self))
  }

  func attest(challenge: String, authority: SimulatedAuthority? = nil) throws -> [UInt8] {
    try device.attest(challenge: Array(challenge.utf8), authority: authority ?? self.authority, at: Int(Date().timeIntervalSince1970))
  }

  /// Enrols the key as it is; what the gate says against it is thrown.
  func enrol() throws {
    let answer = try send(enrolment(challenge: challenge("attest")))
    guard answer.status == 200 else { throw Refused(problem: try problem(in: answer)) }
    isEnrolled = true
    enrolmentCount += 1
  }

  // MARK: Signing

  /// Signs a request over a fresh challenge, or the given one.
  func sign(_ method: String = "POST", _ target: String? = nil, body: String = "one apple", challenge: String? = nil) throws
    -> SignedRequest
  {
    let target = target ?? self.target
    if style == .bodyOnly {
      return SignedRequest(
        method: method, target: target, fields: ["X-App-Assertion: \(base64(device.assert(clientData: Array(body.utf8))))"] + keyField,
        body: body)
    }
    guard let url = URL(string: "https://api.example.com\(target)") else { throw FixtureFailure("'\(target)' is no target") }
    // JSONEncoder escapes every slash, in paths and in base64: so do apps.
    let clientData = try JSONEncoder().encode(
      ClientData(
        challenge: challenge ?? self.challenge("assert"), method: method, path: url.path, query: url.query(percentEncoded: true),
        bodySHA256: base64(SHA256.digest(Array(body.utf8).span).bytes)))
    let assertion = device.assert(clientData: Array(clientData))
    return SignedRequest(
      method: method, target: target,
      fields: ["X-App-Attest-Assertion: \(base64(assertion))", "X-App-Attest-Client-Data: \(base64(Array(clientData)))"] + keyField,
      body: body)
  }

  private var keyField: [String] { namesKey ? ["X-App-Attest-Key-Id: \(keyIdentifier)"] : [] }

  private func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

  @discardableResult
  func send(_ request: SignedRequest, port: UInt16? = nil) throws -> RawMessage {
    try exchange(port: port ?? self.port, request.text)
  }

  // MARK: An honest app

  /// Buys, and does what the codes say until it is done or the codes say that nothing more can be done. It looks at `code` and `recovery`
  /// only, never at a status or at what the test knows.
  func buy(_ method: String = "POST", _ target: String? = nil, body: String = "one apple") throws -> RawMessage {
    var last: RawMessage?
    for _ in 0..<100 {
      do {
        if !isEnrolled { try enrol() }
        let answer = try send(sign(method, target, body: body, challenge: style == .bodyOnly ? nil : offeredChallenge.take()))
        guard answer.value("Content-Type") == "application/problem+json" else { return answer }
        last = answer
        offeredChallenge = Self.challenge(in: answer)
        guard try follow(problem(in: answer)) else { return answer }
      } catch let refused as Refused {
        guard follow(refused.problem) else { throw refused }
      }
    }
    throw FixtureFailure("the codes lead nowhere: \(last.map(String.init(describing:)) ?? "-")")
  }

  /// Does what a code says; false when the app has to stop.
  func follow(_ problem: Problem) -> Bool {
    switch problem.recovery {
    case "retry_later": usleep(50_000)
    case "fetch_challenge": break
    case "sign_again": if problem.code == "assertion_unrecognised" { namesKey = true }
    case "enroll_again":
      device = SimulatedDevice(app: identity)
      isEnrolled = false
    case "use_key": isEnrolled = true
    default: return false
    }
    return true
  }

  private static func challenge(in answer: RawMessage) -> String? {
    guard let value = answer.value("WWW-Authenticate"), value.hasPrefix("AppAttest challenge=\""), value.hasSuffix("\"") else { return nil }
    return String(value.dropFirst("AppAttest challenge=\"".count).dropLast())
  }

  /// The gate said no where the app had nothing else to go on.
  struct Refused: Error {
    let problem: Problem
  }
}
