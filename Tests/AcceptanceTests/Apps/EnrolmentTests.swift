import Fixtures
import Foundation
import SimulatedDevice
import Testing

/// `POST /attest/verify` before the running gate.
@Suite struct EnrolmentTests {
  private func code(_ answer: RawMessage) throws -> String? {
    if answer.status == 200 { return nil }
    let problem = try problem(in: answer)
    // No new challenge: a key can be attested once, so the app begins anew.
    #expect(answer.value("WWW-Authenticate") == nil)
    return problem.code
  }

  @Test(arguments: AppClient.Style.allCases)
  func aKeyIsEnrolledAndAResendIsAnsweredAlike(style: AppClient.Style) throws {
    try GatedStage.run(gateCount: 2) { stage in
      let app = stage.app(style)
      let request = try app.enrolment(challenge: app.challenge("attest"))
      let answer = try app.send(request)
      #expect(answer.status == 200)
      #expect(answer.value("Content-Type") == "application/json")
      #expect(answer.value("Cache-Control") == "no-store")
      let members = try JSONDecoder().decode([String: String].self, from: Data(answer.body))
      #expect(members == ["key_id": app.keyIdentifier, "environment": "simulated", "app": "ABCDE12345.com.example.shop"])
      for gate in stage.gates { #expect(try app.send(request, port: gate.port).body == answer.body) }
      #expect(stage.bought == 0)
    }
  }

  @Test func aFailedEnrolmentBurnsNothing() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      let challenge = try app.challenge("attest")
      let good = try app.enrolment(challenge: challenge)
      let foreign = try SimulatedAuthority(at: Int(Date().timeIntervalSince1970))
      let stranger = stage.app(.named)
      let unlisted = stage.app(.named, identity: GatedStage.unlisted)
      let assertion = try app.challenge("assert")
      let refused: [(SignedRequest, String)] = try [
        (app.enrolment(challenge: challenge, authority: foreign), "certificate_chain_invalid"),
        (app.enrolment(challenge: app.challenge("attest"), attestation: app.attest(challenge: challenge)), "nonce_mismatch"),
        (app.enrolment(challenge: assertion), "challenge_wrong_purpose"),
        (app.enrolment(challenge: "made up"), "challenge_unknown"),
        (app.enrolment(challenge: challenge, attestation: stranger.attest(challenge: challenge)), "key_id_mismatch"),
        (unlisted.enrolment(challenge: challenge), "rp_id_mismatch"),
        (app.enrolment(challenge: challenge, attestation: Array("no CBOR".utf8)), "attestation_malformed"),
        (app.enrolment(challenge: challenge, attestation: app.attest(challenge: challenge) + [0]), "attestation_malformed"),
        (good.with { $0.body = "{" }, "request_malformed"),
        (good.with { $0.body = "[]" }, "request_malformed"),
        (good.with { $0.body = "{\"key_id\": \"\(app.keyIdentifier)\"}" }, "request_malformed"),
        (good.with { $0.body = "{\"key_id\": \"a\"}" }, "key_id_malformed"),
        (good.with { $0.body = String(repeating: " ", count: 70_000) }, "body_too_large"),
        (good.with { $0.method = "PUT" }, "method_not_allowed"),
      ]
      for (number, (request, expected)) in refused.enumerated() {
        let found = try code(app.send(request))
        #expect(found == expected, "number \(number)")
      }
      #expect(try code(app.send(good)) == nil)
      #expect(try app.send(app.sign()).text == "bought")
    }
  }

  @Test func aKeyIsEnrolledOnceAndAChallengeServesOneKey() throws {
    try GatedStage.run { stage in
      let app = stage.app(.named)
      let challenge = try app.challenge("attest")
      #expect(try code(app.send(app.enrolment(challenge: challenge))) == nil)
      #expect(try code(app.send(app.enrolment(challenge: app.challenge("attest")))) == "key_already_enrolled")
      let second = stage.app(.named)
      #expect(try code(second.send(second.enrolment(challenge: challenge))) == "challenge_used")
      #expect(try code(second.send(second.enrolment(challenge: second.challenge("attest")))) == nil)
    }
  }

  @Test func ofManyCopiesOfAnEnrolmentAllSucceedAndOneKeyIsThere() throws {
    try GatedStage.run(gateCount: 2) { stage in
      let app = stage.app(.named)
      let text = try app.enrolment(challenge: app.challenge("attest")).text
      let ports = stage.gates.map(\.port)
      let answers = try onThreads(16) { try exchange(port: ports[$0 % 2], text) }
      for answer in answers where answer.status != 200 { #expect(try problem(in: answer).code == "overloaded", "\(answer)") }
      #expect(answers.contains { $0.status == 200 })
      #expect(try stage.redis.command("KEYS", "attestgate:key:*") != .array([]))
      if case .array(let keys) = try stage.redis.command("KEYS", "attestgate:key:*") { #expect(keys.count == 1) }
    }
  }

  @Test func challengesAreOpaqueTextOrJSONAndNeverTheSame() throws {
    try GatedStage.run { stage in
      var seen = Set<String>()
      for purpose in ["attest", "assert"] {
        for _ in 0..<5 {
          let answer = try exchange(port: stage.gate.port, "GET /\(purpose)/challenge HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(answer.value("Content-Type")?.hasPrefix("text/plain") == true)
          #expect(answer.value("Cache-Control") == "no-store")
          #expect(answer.text.range(of: "^[A-Za-z0-9_-]{43,160}$", options: .regularExpression) != nil)
          seen.insert(answer.text)
        }
        let json = try exchange(port: stage.gate.port, "GET /\(purpose)/challenge HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n")
        let members = try #require(JSONSerialization.jsonObject(with: Data(json.body)) as? [String: Any])
        #expect(members["challenge"] is String)
        #expect(members["expires_in"] as? Int == (purpose == "attest" ? 900 : 300))
      }
      #expect(seen.count == 10)
      // Nothing was stored for any of them.
      #expect(try stage.redis.command("KEYS", "attestgate:used:*") == .array([]))
    }
  }
}
