import AppAttest
import Bytes
import HTTP

/// The body of `POST /attest/verify`: `{"key_id" or "keyId", "attestation", "challenge"}`, decoded and bounded.
struct EnrolmentRequest {
  /// In bytes.
  static let attestationBytesMax = 16 << 10

  /// The key to enrol.
  var key: KeyIdentifier
  /// The attestation object.
  var attestation: [UInt8]
  /// The challenge's bytes, whose SHA-256 is the client data hash.
  var challenge: [UInt8]

  private static let names: InlineArray<4, StaticString> = ["key_id", "keyId", "attestation", "challenge"]

  init(_ body: [UInt8]) throws(CheckFailure) {
    guard body.count <= EnrolmentEndpoint.bodyBytesMax else { throw CheckFailure(.bodyTooLarge, "The body is larger than 64 KiB.") }
    let members: InlineArray<4, JSONString?>
    do throws(JSONFailure) {
      members = try JSONObjectReader.members(Self.names, of: body.span)
    } catch {
      throw CheckFailure(.requestMalformed, "The body \(error.rawValue).")
    }
    guard members[0] == nil || members[1] == nil else { throw CheckFailure(.requestMalformed, "The body has both key_id and keyId.") }
    guard let keyText = members[0] ?? members[1] else { throw CheckFailure(.requestMalformed, "The body has no key_id.") }
    guard let key = KeyIdentifier(base64: keyText.decoded(in: body.span).span) else {
      throw CheckFailure(.keyIDMalformed, "key_id is not base64 of 32 bytes.")
    }
    guard let attestationText = members[2] else { throw CheckFailure(.requestMalformed, "The body has no attestation.") }
    guard let attestation = Base64.decode(attestationText.decoded(in: body.span).span, maximum: EnrolmentEndpoint.bodyBytesMax) else {
      throw CheckFailure(.requestMalformed, "attestation is not base64.")
    }
    guard attestation.count <= Self.attestationBytesMax else {
      throw CheckFailure(.attestationMalformed, "The attestation is larger than 16 KiB.")
    }
    guard let challengeText = members[3] else { throw CheckFailure(.challengeMissing, "The body has no challenge.") }
    guard let challenge = Base64.decode(challengeText.decoded(in: body.span).span, maximum: EnrolmentEndpoint.bodyBytesMax) else {
      throw CheckFailure(.requestMalformed, "challenge is not base64.")
    }
    self.key = key
    self.attestation = attestation
    self.challenge = challenge
  }
}
