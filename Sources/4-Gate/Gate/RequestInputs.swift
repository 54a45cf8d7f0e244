import AppAttest
import Bytes
import HTTP

/// The gate's inputs of one request, decoded and bounded: step 2 of the order of checks. An object, since it is handed from step to step
/// and a struct of so many parts would be copied at each.
final class RequestInputs: Sendable {
  /// The assertion, decoded.
  let assertion: Assertion
  /// The bytes that were hashed and signed; empty where the body is the client data.
  let clientDataBytes: [UInt8]
  /// What they say: ranges of them.
  let clientData: ClientData
  /// The key that the request names, by header or client data.
  let key: KeyIdentifier?

  /// Reads what the profile of `policy` asks for, and compares the client data with the head that it came with.
  init(_ facts: RequestFacts, under policy: SharedPolicy) throws(CheckFailure) {
    assertion = try Self.assertion(facts)
    if policy.clientData == .json {
      let bytes = try Self.clientData(facts)
      clientDataBytes = bytes
      do throws(ClientData.Failure) {
        clientData = try ClientData(json: bytes.span)
      } catch {
        throw CheckFailure(error.code, error.detail)
      }
      key = try Self.key(facts, member: clientData.keyIdentifier)
    } else {
      clientDataBytes = []
      clientData = ClientData()
      key = try Self.key(facts, member: nil)
    }
    guard key != nil || !policy.requiresKeyID else {
      throw CheckFailure(.keyIDMalformed, "This route demands that the request names its key.")
    }
    guard policy.clientData == .json else { return }
    guard clientData.challenge != nil else { throw CheckFailure(.challengeMissing, "The client data has no challenge.") }
    let bytes = clientDataBytes
    if let mismatch = Bindings.compare(clientData, in: bytes.span, with: facts, under: policy) {
      throw CheckFailure(mismatch.code, mismatch.detail)
    }
  }

  private static func assertion(_ facts: RequestFacts) throws(CheckFailure) -> Assertion {
    let text: Span<UInt8>
    switch facts.assertion {
    case .absent: throw CheckFailure(.assertionMissing, "The request carries no assertion.")
    case .repeated: throw CheckFailure(.assertionMalformed, "The assertion comes more than once.")
    case .one(let range): text = facts.head.bytes(at: range)
    }
    guard let bytes = Base64.decode(text, maximum: Assertion.byteCountMax) else {
      throw CheckFailure(.assertionMalformed, "The assertion is not base64 of at most \(Assertion.byteCountMax) bytes.")
    }
    do throws(Malformed) {
      return try Assertion(bytes)
    } catch {
      throw CheckFailure(.assertionMalformed, "The assertion is not the CBOR map that a device makes.")
    }
  }

  private static func clientData(_ facts: RequestFacts) throws(CheckFailure) -> [UInt8] {
    let text: Span<UInt8>
    switch facts.clientData {
    case .absent: throw CheckFailure(.clientDataMissing, "The request carries no client data.")
    case .repeated: throw CheckFailure(.clientDataMalformed, "The client data comes more than once.")
    case .one(let range): text = facts.head.bytes(at: range)
    }
    guard let bytes = Base64.decode(text, maximum: ClientData.byteCountMax) else {
      throw CheckFailure(.clientDataMalformed, "The client data is not base64 of at most \(ClientData.byteCountMax) bytes.")
    }
    return bytes
  }

  private static func key(_ facts: RequestFacts, member: KeyIdentifier?) throws(CheckFailure) -> KeyIdentifier? {
    switch facts.keyID {
    case .absent: return member
    case .repeated: throw CheckFailure(.keyIDMalformed, "The key identifier comes more than once.")
    case .one(let range):
      guard let key = KeyIdentifier(base64: facts.head.bytes(at: range)) else {
        throw CheckFailure(.keyIDMalformed, "The key identifier is not base64 of 32 bytes.")
      }
      guard member == nil || member == key else {
        throw CheckFailure(.keyIDMalformed, "Header and client data name different keys.")
      }
      return key
    }
  }
}
