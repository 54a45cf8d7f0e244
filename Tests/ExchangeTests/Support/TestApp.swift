import AppAttest
import Cryptography
import EventLoop
import Fixtures
import Foundation
import Gate
import SimulatedDevice

@testable import Exchange

/// An app on a simulated device, whose authority a site can be made to trust.
final class TestApp {
  static let identity = AppIdentity(prefix: "ABCDE12345", bundleIdentifier: "com.example.shop")

  let authority: SimulatedAuthority
  let device = SimulatedDevice(app: TestApp.identity)

  init() throws { authority = try SimulatedAuthority(at: WallClock.unixSeconds) }

  /// Lets the app's keys in.
  func admit(to site: inout Site) {
    site.gate = GateSettings(apps: [AttestedApp(Self.identity, environments: [.simulated], trustRoots: [authority.root])])
    for index in site.routes.indices { site.routes[index].policy.apps = [Self.identity.description: [.simulated]] }
  }

  /// The answer to the enrolment of the device's key; `authority` attests for it.
  func enroll(at gate: TestGate, authority: SimulatedAuthority? = nil) throws -> RawMessage {
    let challenge = try gate.exchange("GET /attest/challenge HTTP/1.1\r\nHost: a\r\n\r\n").text
    let object = try device.attest(
      challenge: Array(challenge.utf8), authority: authority ?? self.authority, at: WallClock.unixSeconds)
    let members = [
      "key_id": device.keyIdentifier.base64, "attestation": Data(object).base64EncodedString(),
      "challenge": Data(challenge.utf8).base64EncodedString(),
    ]
    let body = String(decoding: try JSONEncoder().encode(members), as: UTF8.self)
    return try gate.exchange("POST /attest/verify HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// The fields that sign a request with this body.
  func sign(_ method: String, _ target: String, body: [UInt8] = [], at gate: TestGate) throws -> String {
    let challenge = try gate.exchange("GET /assert/challenge HTTP/1.1\r\nHost: a\r\n\r\n").text
    guard let url = RequestURL("http://a\(target)") else { throw FixtureFailure("'\(target)' is no target") }
    let lines = device.sign(method: method, url: url, body: body, challenge: challenge)
    return lines.map { "\($0.name): \($0.value)\r\n" }.joined()
  }

  /// A signed request whose body has a length, or comes in chunks of so many bytes.
  func request(_ method: String, _ target: String, body: [UInt8], chunkBytes: Int? = nil, at gate: TestGate) throws -> [UInt8] {
    let fields = try sign(method, target, body: body, at: gate)
    guard let chunkBytes else {
      return Array("\(method) \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\(fields)\r\n".utf8) + body
    }
    return Array("\(method) \(target) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n".utf8)
      + chunked(body, chunkBytes)
  }
}

/// A body in chunks of so many bytes.
func chunked(_ body: [UInt8], _ chunkBytes: Int) -> [UInt8] {
  var result: [UInt8] = []
  var start = 0
  while start < body.count {
    let end = min(start + chunkBytes, body.count)
    result += Array("\(String(end - start, radix: 16))\r\n".utf8) + body[start..<end] + [0x0D, 0x0A]
    start = end
  }
  return result + Array("0\r\n\r\n".utf8)
}

/// Bytes of which no part repeats soon.
func pattern(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
}

extension TestApp {
  /// The fields that sign method and path alone.
  func signWithoutBody(_ method: String, _ path: String, challenge: String) -> String {
    var clientData = ClientData()
    clientData.challenge = challenge
    clientData.method = method
    clientData.path = path
    let encoded = clientData.encoded
    let assertion = Data(device.assert(clientData: encoded)).base64EncodedString()
    return "X-App-Attest-Assertion: \(assertion)\r\nX-App-Attest-Client-Data: \(Data(encoded).base64EncodedString())\r\n"
  }
}
