import AppAttest
import Bytes
import HTTP

/// The gate's inputs of one request, decoded and bounded: step 2 of the order of checks. An object for the reason that the facts are one.
final class RequestInputs: Sendable {
  /// The assertion's CBOR.
  let assertionBytes: [UInt8]
  /// The assertion, decoded.
  let assertion: Assertion
  /// The bytes that were hashed and signed; empty where the body is the client data.
  let clientDataBytes: [UInt8]
  /// What they say.
  let clientData: ClientData
  /// The key that the request names, by header or client data.
  let key: KeyIdentifier?

  /// Reads what the profile of `policy` asks for, and compares the client data with the head that it came with.
  init(_ facts: RequestFacts, under policy: GatePolicy) throws(CheckFailure) {
    (assertionBytes, assertion) = try Self.assertion(facts.assertion)
    if policy.clientData == .json {
      let bytes = try Self.clientData(facts.clientData)
      clientDataBytes = bytes
      do throws(ClientData.Failure) {
        clientData = try ClientData(json: bytes.span)
      } catch {
        throw CheckFailure(error.code, error.detail)
      }
    } else {
      clientDataBytes = []
      clientData = ClientData()
    }
    key = try Self.key(facts.keyID, member: clientData.keyIdentifier)
    guard key != nil || !policy.requiresKeyID else {
      throw CheckFailure(.keyIDMalformed, "This route demands that the request names its key.")
    }
    guard policy.clientData == .json else { return }
    guard clientData.challenge != nil else { throw CheckFailure(.challengeMissing, "The client data has no challenge.") }
    if let mismatch = Bindings.compare(clientData, with: facts, under: policy) { throw CheckFailure(mismatch.code, mismatch.detail) }
  }

  private static func assertion(_ field: FieldInput) throws(CheckFailure) -> ([UInt8], Assertion) {
    let text: [UInt8]
    switch field {
    case .absent: throw CheckFailure(.assertionMissing, "The request carries no assertion.")
    case .repeated: throw CheckFailure(.assertionMalformed, "The assertion comes more than once.")
    case .one(let value): text = value
    }
    guard let bytes = Base64.decode(text.span, maximum: Assertion.byteCountMax) else {
      throw CheckFailure(.assertionMalformed, "The assertion is not base64 of at most \(Assertion.byteCountMax) bytes.")
    }
    do throws(Malformed) {
      return (bytes, try Assertion(bytes.span))
    } catch {
      throw CheckFailure(.assertionMalformed, "The assertion is not the CBOR map that a device makes.")
    }
  }

  private static func clientData(_ field: FieldInput) throws(CheckFailure) -> [UInt8] {
    let text: [UInt8]
    switch field {
    case .absent: throw CheckFailure(.clientDataMissing, "The request carries no client data.")
    case .repeated: throw CheckFailure(.clientDataMalformed, "The client data comes more than once.")
    case .one(let value): text = value
    }
    guard let bytes = Base64.decode(text.span, maximum: ClientData.byteCountMax) else {
      throw CheckFailure(.clientDataMalformed, "The client data is not base64 of at most \(ClientData.byteCountMax) bytes.")
    }
    return bytes
  }

  private static func key(_ field: FieldInput, member: KeyIdentifier?) throws(CheckFailure) -> KeyIdentifier? {
    switch field {
    case .absent: return member
    case .repeated: throw CheckFailure(.keyIDMalformed, "The key identifier comes more than once.")
    case .one(let text):
      guard let key = KeyIdentifier(base64: text.span) else {
        throw CheckFailure(.keyIDMalformed, "The key identifier is not base64 of 32 bytes.")
      }
      guard member == nil || member == key else {
        throw CheckFailure(.keyIDMalformed, "Header and client data name different keys.")
      }
      return key
    }
  }
}
